//! What comes from C, checked and copied; and text on its way back to C.

use std::ffi::{CStr, CString, c_char, c_void};
use std::time::Duration;

use zkrecipes::{Error, Partitions, Result};

/// A string that must be given.
pub(crate) fn text(argument: &str, given: *const c_char) -> Result<String> {
    optional_text(argument, given)?.ok_or_else(|| Error::invalid(argument, "is NULL; give a string"))
}

/// A string where NULL stands for leaving it out.
pub(crate) fn optional_text(argument: &str, given: *const c_char) -> Result<Option<String>> {
    if given.is_null() {
        return Ok(None);
    }
    // SAFETY: the header asks for a string that ends with NUL and stands still during the call.
    let bytes = unsafe { CStr::from_ptr(given) };
    match bytes.to_str() {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(bad) => Err(Error::invalid(argument, format_args!("is not UTF-8 at byte {}", bad.valid_up_to()))),
    }
}

/// Several strings.
pub(crate) fn texts(argument: &str, given: *const *const c_char, count: usize) -> Result<Vec<String>> {
    slice(argument, given, count)?.iter().map(|one| text(argument, *one)).collect()
}

/// Names of partitions, or NULL and how many.
pub(crate) fn partitions(argument: &str, given: *const *const c_char, count: usize) -> Result<Partitions> {
    match given.is_null() {
        true => Ok(count.into()),
        false => Ok(texts(argument, given, count)?.into()),
    }
}

/// Bytes with their size; NULL is fine for none.
pub(crate) fn bytes(argument: &str, given: *const c_void, size: usize) -> Result<Vec<u8>> {
    Ok(slice::<u8>(argument, given.cast(), size)?.to_vec())
}

/// Several times bytes with their sizes.
pub(crate) fn many(
    argument: &str,
    given: *const *const c_void,
    sizes: *const usize,
    count: usize,
) -> Result<Vec<Vec<u8>>> {
    let sizes = slice("sizes", sizes, count)?;
    slice(argument, given, count)?.iter().zip(sizes).map(|(at, size)| bytes(argument, *at, *size)).collect()
}

/// An array with its length; NULL is fine for none.
pub(crate) fn slice<'a, T>(argument: &str, given: *const T, count: usize) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if given.is_null() {
        return Err(Error::invalid(argument, format_args!("is NULL, but its size says {count}")));
    }
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(Error::invalid(
            argument,
            format_args!("has the size {count}, which cannot be (a negative number?)"),
        ));
    }
    // SAFETY: not NULL, and the header asks for that many items that stand still during the call.
    Ok(unsafe { std::slice::from_raw_parts(given, count) })
}

/// ZooKeeper's convention: −1 is any version.
pub(crate) fn version(given: i32) -> Result<Option<i32>> {
    match given {
        -1 => Ok(None),
        0.. => Ok(Some(given)),
        _ => Err(Error::invalid("version", format_args!("{given} is no version; use -1 for any"))),
    }
}

/// How many. A negative number of the caller's has become a huge one on its way.
pub(crate) fn count(argument: &str, given: usize) -> Result<usize> {
    match isize::try_from(given) {
        Ok(_) => Ok(given),
        Err(_) => Err(Error::invalid(
            argument,
            format_args!("{} is negative; give a number from 1 on", given as isize),
        )),
    }
}

/// A duration that has an end.
pub(crate) fn millis(argument: &str, given: i64) -> Result<Duration> {
    match u64::try_from(given) {
        Ok(ms) => Ok(Duration::from_millis(ms)),
        Err(_) => Err(Error::invalid(argument, format_args!("{given} is negative; give milliseconds"))),
    }
}

/// The place for a result. It is emptied at once, so that a failed verb leaves nothing to free by mistake.
pub(crate) struct Place<T>(*mut T);

impl<T: Default> Place<T> {
    /// A place that must be given.
    pub(crate) fn required(argument: &str, place: *mut T) -> Result<Place<T>> {
        if place.is_null() {
            return Err(Error::invalid(argument, "is NULL; give the address of a variable for the result"));
        }
        Ok(Place::optional(place))
    }

    /// A place that may be NULL when the result is of no interest.
    pub(crate) fn optional(place: *mut T) -> Place<T> {
        if !place.is_null() {
            // SAFETY: the header asks for the address of a variable of this type.
            unsafe { place.write(T::default()) };
        }
        Place(place)
    }

    pub(crate) fn put(&self, value: T) {
        if self.is_wanted() {
            // SAFETY: as above; the variable outlives the call that it was given to.
            unsafe { self.0.write(value) };
        }
    }

    pub(crate) fn is_wanted(&self) -> bool {
        !self.0.is_null()
    }
}

/// The place for a handle.
pub(crate) struct HandlePlace<T>(*mut *mut T);

impl<T> HandlePlace<T> {
    pub(crate) fn required(argument: &str, place: *mut *mut T) -> Result<HandlePlace<T>> {
        if place.is_null() {
            return Err(Error::invalid(argument, "is NULL; give the address of a pointer for the result"));
        }
        Ok(HandlePlace::optional(place))
    }

    pub(crate) fn optional(place: *mut *mut T) -> HandlePlace<T> {
        if !place.is_null() {
            // SAFETY: the header asks for the address of a pointer of this type.
            unsafe { place.write(std::ptr::null_mut()) };
        }
        HandlePlace(place)
    }

    /// Makes the handle only if somebody wants it.
    pub(crate) fn put(&self, handle: impl FnOnce() -> Result<*mut T>) -> Result<()> {
        if !self.0.is_null() {
            // SAFETY: as above; the pointer outlives the call that it was given to.
            unsafe { self.0.write(handle()?) };
        }
        Ok(())
    }
}

/// Text for C. No text of ours has a NUL, but data from a server might.
pub(crate) fn to_c(text: &str) -> CString {
    CString::new(text).unwrap_or_else(|_| CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default())
}
