//! Handles: what C holds is never an address of ours but a slot and a generation, so a NULL, freed, twice freed,
//! foreign or wrong handle is recognised at every call instead of being dereferenced. The testing kit has this file and a
//! table of its own; its generations are even ones and those of this library odd, so no handle is taken for the other's.

use std::any::{Any, TypeId};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use zkrecipes::{Error, ErrorKind, Result};

use crate::system::process;

/// What can stand behind a handle.
pub(crate) trait Object: Any + Send + Sync {
    /// The opaque C type that the handle poses as.
    type Opaque;
    /// Its name in the header.
    const NAME: &'static str;

    /// Whether it belongs to another handle, which frees it.
    fn is_part(&self) -> bool {
        false
    }
}

/// An object without its type.
pub(crate) type AnyObject = Arc<dyn Any + Send + Sync>;

const GENERATION_SHIFT: u32 = usize::BITS / 2;
const LAST: usize = (1 << GENERATION_SHIFT) - 1;

struct Slot {
    generation: usize,
    occupant: Option<Occupant>,
}

#[derive(Clone)]
struct Occupant {
    object: AnyObject,
    name: &'static str,
    /// How many forks lay behind the process when the handle was made.
    process: u32,
}

struct Table {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

static TABLE: RwLock<Table> = RwLock::new(Table { slots: Vec::new(), free: Vec::new() });

/// How many forks lie between this process and the one that loaded the library.
static FORKS: AtomicU32 = AtomicU32::new(0);

fn read() -> RwLockReadGuard<'static, Table> {
    TABLE.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Table> {
    watch_forks();
    TABLE.write().unwrap_or_else(PoisonError::into_inner)
}

/// Hands an object over to C.
pub(crate) fn publish<T: Object>(object: T) -> Result<*mut T::Opaque> {
    share(Arc::new(object))
}

/// Hands another reference to an object over to C.
pub(crate) fn share<T: Object>(object: Arc<T>) -> Result<*mut T::Opaque> {
    put(object, T::NAME).map(std::ptr::without_provenance_mut)
}

/// What follows is the same for all types, and so there once.
fn put(object: AnyObject, name: &'static str) -> Result<usize> {
    let mut table = write();
    let index = match table.free.pop() {
        Some(index) => index,
        None if table.slots.len() < LAST => {
            table.slots.push(Slot { generation: crate::FIRST_GENERATION, occupant: None });
            table.slots.len() - 1
        }
        None => return Err(Error::new(ErrorKind::Internal, "too many handles are open at once; free some")),
    };
    let slot = &mut table.slots[index];
    slot.occupant = Some(Occupant { object, name, process: FORKS.load(Ordering::Relaxed) });
    Ok((slot.generation << GENERATION_SHIFT) | (index + 1))
}

/// What a handle is expected to be.
#[derive(Copy, Clone)]
pub(crate) struct Kind {
    id: TypeId,
    pub(crate) name: &'static str,
}

impl Kind {
    pub(crate) fn of<T: Object>() -> Kind {
        Kind { id: TypeId::of::<T>(), name: T::NAME }
    }
}

/// The object behind a handle; the error names the argument.
pub(crate) fn get<T: Object>(argument: &str, handle: *const T::Opaque) -> Result<Arc<T>> {
    get_any(argument, handle.addr(), Kind::of::<T>()).map(cast)
}

/// The same without its type.
pub(crate) fn get_any(argument: &str, handle: usize, kind: Kind) -> Result<AnyObject> {
    let occupant = find(argument, handle, kind)?;
    if occupant.process != FORKS.load(Ordering::Relaxed) {
        return Err(Error::new(
            ErrorKind::Forked,
            format!(
                "{argument}: this {} belongs to the parent process; connect a client in this one",
                kind.name
            ),
        ));
    }
    Ok(occupant.object)
}

/// The same for an object that a forked child may go on using: errors, and lists already fetched.
pub(crate) fn get_anywhere<T: Object>(handle: *const T::Opaque) -> Option<Arc<T>> {
    find("handle", handle.addr(), Kind::of::<T>()).ok().map(|occupant| cast(occupant.object))
}

/// Takes the object back from C; the handle is worthless from here on. `None` when it was not (or no longer) one.
pub(crate) fn take<T: Object>(handle: *mut T::Opaque) -> Option<Arc<T>> {
    take_back(handle.addr(), Kind::of::<T>()).map(cast)
}

fn take_back(handle: usize, kind: Kind) -> Option<AnyObject> {
    find("handle", handle, kind).ok()?;
    let occupant = {
        let mut table = write();
        let (index, generation) = parts(handle)?;
        let slot = table.slots.get_mut(index).filter(|slot| slot.generation == generation)?;
        let occupant = slot.occupant.take()?;
        slot.generation += 2;
        // A slot whose generations are used up is retired, so no handle ever comes to life again.
        if slot.generation < LAST {
            table.free.push(index);
        }
        occupant
    };
    if occupant.process != FORKS.load(Ordering::Relaxed) {
        // The threads it would talk to stayed in the parent, and so did what it holds there.
        std::mem::forget(occupant);
        return None;
    }
    Some(occupant.object)
}

fn find(argument: &str, handle: usize, kind: Kind) -> Result<Occupant> {
    if handle == 0 {
        return Err(Error::invalid(argument, format_args!("is NULL; a {} is needed", kind.name)));
    }
    let freed = || Error::invalid(argument, format_args!("was freed already, or never was a {}", kind.name));
    let (index, generation) = parts(handle).ok_or_else(freed)?;
    let occupant = {
        let table = read();
        let slot = table.slots.get(index).filter(|slot| slot.generation == generation);
        slot.and_then(|slot| slot.occupant.clone()).ok_or_else(freed)?
    };
    if (*occupant.object).type_id() != kind.id {
        return Err(Error::invalid(
            argument,
            format_args!("is a {}; a {} is needed", occupant.name, kind.name),
        ));
    }
    Ok(occupant)
}

fn parts(handle: usize) -> Option<(usize, usize)> {
    Some(((handle & LAST).checked_sub(1)?, handle >> GENERATION_SHIFT))
}

fn cast<T: Object>(object: AnyObject) -> Arc<T> {
    object.downcast().unwrap_or_else(|_| unreachable!("the type was checked at the lookup"))
}

/// A fork may come while another thread has the table locked; the child would then wait for a thread it does not
/// have. So the thread that forks holds the table itself meanwhile, as malloc does with its own locks.
fn watch_forks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| process::watch_forks(before_fork, after_fork_in_parent, after_fork_in_child));
}

struct HeldAcrossFork(UnsafeCell<Option<RwLockWriteGuard<'static, Table>>>);
// SAFETY: only the forking thread touches it, and only while it has the table to itself.
unsafe impl Sync for HeldAcrossFork {}
static HELD_ACROSS_FORK: HeldAcrossFork = HeldAcrossFork(UnsafeCell::new(None));

unsafe extern "C" fn before_fork() {
    let guard = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the guard just taken keeps every other forking thread out.
    unsafe { *HELD_ACROSS_FORK.0.get() = Some(guard) };
}

unsafe extern "C" fn after_fork_in_parent() {
    // SAFETY: this thread still has the table to itself; the guard leaves the cell before it is released.
    let guard = unsafe { (*HELD_ACROSS_FORK.0.get()).take() };
    drop(guard);
}

unsafe extern "C" fn after_fork_in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: as in the parent; the child has this one thread only.
    let guard = unsafe { (*HELD_ACROSS_FORK.0.get()).take() };
    drop(guard);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Apple(u32);
    struct Pear;

    impl Object for Apple {
        type Opaque = u8;
        const NAME: &'static str = "apple";
    }

    impl Object for Pear {
        type Opaque = u8;
        const NAME: &'static str = "pear";
    }

    fn problem<T: Object>(handle: *const T::Opaque) -> String {
        get::<T>("fruit", handle).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn a_handle_finds_its_object_until_it_is_taken() {
        let handle = publish(Apple(7)).unwrap();
        assert_eq!(get::<Apple>("fruit", handle).unwrap().0, 7);
        assert_eq!(take::<Apple>(handle).unwrap().0, 7);
        assert!(take::<Apple>(handle).is_none());
        assert!(problem::<Apple>(handle).contains("fruit"));
    }

    #[test]
    fn a_successor_in_the_same_place_is_another_handle() {
        let mut seen = std::collections::HashSet::new();
        for _ in 0..1000 {
            let handle = publish(Apple(0)).unwrap();
            assert!(seen.insert(handle));
            take::<Apple>(handle);
        }
        assert!(seen.iter().all(|handle| get::<Apple>("fruit", *handle).is_err()));
    }

    #[test]
    fn null_foreign_and_wrong_handles_are_told_apart() {
        let handle = publish(Pear).unwrap();
        assert!(problem::<Apple>(std::ptr::null()).contains("NULL"));
        assert!(problem::<Apple>(handle).contains("is a pear"));
        for foreign in [1, 2, LAST, LAST + 1, usize::MAX, usize::MAX - 1, 1 << 40] {
            assert!(get::<Apple>("fruit", std::ptr::without_provenance(foreign)).is_err());
            assert!(take::<Apple>(std::ptr::without_provenance_mut(foreign)).is_none());
        }
        assert!(take::<Apple>(handle).is_none());
        assert!(take::<Pear>(handle).is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_handle_of_the_parent_process_is_forked() {
        let handle = publish(Apple(1)).unwrap();
        // SAFETY: the child only looks at its own copy of the table and ends without running anything else.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_forked =
                get::<Apple>("fruit", handle).is_err_and(|error| error.kind() == ErrorKind::Forked);
            let is_not_taken = take::<Apple>(handle).is_none();
            unsafe { libc::_exit(i32::from(!(is_forked && is_not_taken))) };
        }
        let mut status = -1;
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
        assert!(take::<Apple>(handle).is_some());
    }
}
