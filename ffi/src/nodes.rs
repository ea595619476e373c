//! Plain node operations.

use std::ffi::{c_char, c_void};
use std::pin::Pin;
use std::sync::Arc;

use zkrecipes::{CreateMode, Nodes, Result, Stat};

use crate::client::{self, ClientHandle, zkr_client};
use crate::collections::{Buffer, Strings, zkr_buffer, zkr_strings};
use crate::error::{zkr_error, zkr_status};
use crate::events::{self, Listener, zkr_done_callback};
use crate::guard;
use crate::handle;
use crate::input::{self, HandlePlace, Place};
use crate::options::choice;

/// What kind of node to create.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_create_mode {
    /// Stays until it is deleted.
    ZKR_PERSISTENT = 0,
    /// Goes with the session.
    ZKR_EPHEMERAL = 1,
    /// Stays; the server appends a number of ten digits to the name.
    ZKR_PERSISTENT_SEQUENTIAL = 2,
    /// Goes with the session; the server appends a number of ten digits to the name.
    ZKR_EPHEMERAL_SEQUENTIAL = 3,
    /// Goes some time after its last child.
    ZKR_CONTAINER = 4,
}

/// A zkr_create_mode from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenCreateMode(i32);

/// What the server knows about a node besides its data.
#[repr(C)]
#[derive(Copy, Clone, Default)]
pub struct zkr_stat {
    /// The transaction that created it, the one that last set its data, the one that last changed its children.
    pub czxid: i64,
    pub mzxid: i64,
    pub pzxid: i64,
    /// When it was created and last set, in milliseconds since 1970 by the server's clock.
    pub ctime: i64,
    pub mtime: i64,
    /// How often its data, its children and its access list were changed.
    pub version: i32,
    pub cversion: i32,
    pub aversion: i32,
    pub data_length: i32,
    pub num_children: i32,
    /// The session that it belongs to if it is ephemeral, else 0.
    pub ephemeral_owner: i64,
}

/// The end of a verb that hands over bytes; stat is NULL where there is none. On ZKR_OK the buffer belongs to the
/// callback, otherwise it is NULL; stat and error are only lent.
pub type zkr_buffer_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        buffer: *mut zkr_buffer,
        stat: *const zkr_stat,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// The end of a verb that hands over a stat, NULL where there is no node. stat and error are only lent.
pub type zkr_stat_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        stat: *const zkr_stat,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// The end of a verb that hands over a list. On ZKR_OK the list belongs to the callback, otherwise it is NULL; the
/// error is only lent.
pub type zkr_strings_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        strings: *mut zkr_strings,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

pub(crate) fn mode(given: GivenCreateMode) -> Result<CreateMode> {
    use zkr_create_mode::*;
    let modes =
        [ZKR_PERSISTENT, ZKR_EPHEMERAL, ZKR_PERSISTENT_SEQUENTIAL, ZKR_EPHEMERAL_SEQUENTIAL, ZKR_CONTAINER];
    Ok(match choice("mode", given.0, &modes)? {
        ZKR_PERSISTENT => CreateMode::Persistent,
        ZKR_EPHEMERAL => CreateMode::Ephemeral,
        ZKR_PERSISTENT_SEQUENTIAL => CreateMode::PersistentSequential,
        ZKR_EPHEMERAL_SEQUENTIAL => CreateMode::EphemeralSequential,
        ZKR_CONTAINER => CreateMode::Container,
    })
}

impl From<Stat> for zkr_stat {
    fn from(stat: Stat) -> zkr_stat {
        zkr_stat {
            czxid: stat.czxid,
            mzxid: stat.mzxid,
            pzxid: stat.pzxid,
            ctime: stat.ctime,
            mtime: stat.mtime,
            version: stat.version,
            cversion: stat.cversion,
            aversion: stat.aversion,
            data_length: stat.data_length,
            num_children: stat.num_children,
            ephemeral_owner: stat.ephemeral_owner,
        }
    }
}

/// A client with the verb that is to run on it, its arguments already copied: the blocking form waits for it, the
/// other one starts it.
struct Call<T> {
    client: Arc<ClientHandle>,
    future: Pin<Box<dyn Future<Output = Result<T>> + Send>>,
}

impl<T: Send + 'static> Call<T> {
    fn wait(self) -> Result<T> {
        events::wait(None, || self.future)
    }

    fn start(self, done: impl FnOnce(Result<T>) + Send + 'static) -> Result<()> {
        events::start(&self.client.core, None, self.future, done)
    }
}

/// Bad arguments surface when the call runs, so that an asynchronous verb reports them like everything else.
fn call<A: Send + 'static, T, F: Future<Output = Result<T>> + Send>(
    client: *const zkr_client,
    arguments: Result<A>,
    verb: impl FnOnce(Nodes, A) -> F + Send + 'static,
) -> Result<Call<T>> {
    let client = client::get(client)?;
    let nodes = client.core.nodes();
    Ok(Call { client, future: Box::pin(async move { verb(nodes, arguments?).await }) })
}

/// Several arguments at once.
fn all<A>(arguments: impl FnOnce() -> Result<A>) -> Result<A> {
    arguments()
}

fn hand_over_text(text: String) -> Result<*mut zkr_buffer> {
    handle::publish(Buffer::new(text.into_bytes()))
}

fn create(
    client: *const zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    wanted: GivenCreateMode,
) -> Result<Call<String>> {
    call(
        client,
        all(|| Ok((input::text("path", path)?, input::bytes("data", data, size)?, mode(wanted)?))),
        |nodes, (path, data, mode)| async move { nodes.create(&path, &data, mode).await },
    )
}

/// Creates a node. created may be NULL; otherwise it is for the path that the node got, as text: free it with
/// zkr_buffer_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_create(
    client: *mut zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    mode: GivenCreateMode,
    created: *mut *mut zkr_buffer,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::optional(created);
        let path = create(client, path, data, size, mode)?.wait()?;
        place.put(|| hand_over_text(path))
    })
}

/// zkr_nodes_create in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_create_async(
    client: *mut zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    mode: GivenCreateMode,
    callback: zkr_buffer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let listener = Listener::new(callback, user_data)?;
        create(client, path, data, size, mode)?.start(move |outcome| {
            // SAFETY: a function of this type, as the caller gave it.
            listener.report(outcome, hand_over_text, |function, status, path, error, data| unsafe {
                function(status, path.unwrap_or(std::ptr::null_mut()), std::ptr::null(), error, data);
            });
        })
    })
}

fn get_node(client: *const zkr_client, path: *const c_char) -> Result<Call<(Vec<u8>, Stat)>> {
    call(client, input::text("path", path), |nodes, path| async move { nodes.get(&path).await })
}

/// Reads a node. On success *data belongs to the caller: free it with zkr_buffer_free. stat may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_get(
    client: *mut zkr_client,
    path: *const c_char,
    data: *mut *mut zkr_buffer,
    stat: *mut zkr_stat,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let data = HandlePlace::required("data", data)?;
        let place = Place::optional(stat);
        let (bytes, stat) = get_node(client, path)?.wait()?;
        place.put(stat.into());
        data.put(|| handle::publish(Buffer::new(bytes)))
    })
}

/// zkr_nodes_get in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_get_async(
    client: *mut zkr_client,
    path: *const c_char,
    callback: zkr_buffer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let listener = Listener::new(callback, user_data)?;
        get_node(client, path)?.start(move |outcome| {
            listener.report(
                outcome,
                |(bytes, stat)| Ok((handle::publish(Buffer::new(bytes))?, zkr_stat::from(stat))),
                // SAFETY: a function of this type, as the caller gave it; the stat outlives the call.
                |function, status, read, error, data| unsafe {
                    match read {
                        Some((buffer, stat)) => function(status, buffer, &raw const stat, error, data),
                        None => function(status, std::ptr::null_mut(), std::ptr::null(), error, data),
                    }
                },
            );
        })
    })
}

fn set(
    client: *const zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    version: i32,
) -> Result<Call<Option<Stat>>> {
    call(
        client,
        all(|| Ok((input::text("path", path)?, input::bytes("data", data, size)?, input::version(version)?))),
        |nodes, (path, data, version)| async move { nodes.set(&path, &data, version).await.map(Some) },
    )
}

/// Replaces a node's data; version is the version that it must have, -1 for any. stat may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_set(
    client: *mut zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    version: i32,
    stat: *mut zkr_stat,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = Place::optional(stat);
        if let Some(stat) = set(client, path, data, size, version)?.wait()? {
            place.put(stat.into());
        }
        Ok(())
    })
}

/// zkr_nodes_set in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_set_async(
    client: *mut zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    version: i32,
    callback: zkr_stat_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let listener = Listener::new(callback, user_data)?;
        set(client, path, data, size, version)?.start(move |outcome| report_stat(listener, outcome))
    })
}

type StatCallback = unsafe extern "C" fn(zkr_status, *const zkr_stat, *const zkr_error, *mut c_void);

fn report_stat(listener: Listener<StatCallback>, outcome: Result<Option<Stat>>) {
    listener.report(
        outcome,
        |stat| Ok(stat.map(zkr_stat::from)),
        // SAFETY: a function of this type, as the caller gave it; the stat outlives the call.
        |function, status, stat, error, data| unsafe {
            let stat = stat.flatten();
            function(status, stat.as_ref().map_or(std::ptr::null(), std::ptr::from_ref), error, data);
        },
    );
}

fn delete(client: *const zkr_client, path: *const c_char, version: i32) -> Result<Call<()>> {
    call(
        client,
        all(|| Ok((input::text("path", path)?, input::version(version)?))),
        |nodes, (path, version)| async move { nodes.delete(&path, version).await },
    )
}

/// Deletes a node without children; version is the version that it must have, -1 for any.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_delete(
    client: *mut zkr_client,
    path: *const c_char,
    version: i32,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || delete(client, path, version)?.wait())
}

/// zkr_nodes_delete in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_delete_async(
    client: *mut zkr_client,
    path: *const c_char,
    version: i32,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let listener = Listener::new(callback, user_data)?;
        delete(client, path, version)?.start(move |outcome| listener.done(outcome))
    })
}

fn exists_node(client: *const zkr_client, path: *const c_char) -> Result<Call<Option<Stat>>> {
    call(client, input::text("path", path), |nodes, path| async move { nodes.exists(&path).await })
}

/// Asks whether a node exists. stat may be NULL; it is only filled if the node exists.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_exists(
    client: *mut zkr_client,
    path: *const c_char,
    exists: *mut bool,
    stat: *mut zkr_stat,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let exists = Place::required("exists", exists)?;
        let place = Place::optional(stat);
        let found = exists_node(client, path)?.wait()?;
        exists.put(found.is_some());
        if let Some(stat) = found {
            place.put(stat.into());
        }
        Ok(())
    })
}

/// zkr_nodes_exists in the background: the callback's stat is NULL if there is no node. ZKR_OK says that the callback
/// will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_exists_async(
    client: *mut zkr_client,
    path: *const c_char,
    callback: zkr_stat_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let listener = Listener::new(callback, user_data)?;
        exists_node(client, path)?.start(move |outcome| report_stat(listener, outcome))
    })
}

fn children_of(client: *const zkr_client, path: *const c_char) -> Result<Call<Vec<String>>> {
    call(client, input::text("path", path), |nodes, path| async move { nodes.children(&path).await })
}

/// The names of a node's children, sorted. On success *children belongs to the caller: free it with zkr_strings_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_children(
    client: *mut zkr_client,
    path: *const c_char,
    children: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("children", children)?;
        let names = children_of(client, path)?.wait()?;
        place.put(|| handle::publish(Strings::new(names)))
    })
}

/// zkr_nodes_children in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_children_async(
    client: *mut zkr_client,
    path: *const c_char,
    callback: zkr_strings_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let listener = Listener::new(callback, user_data)?;
        children_of(client, path)?.start(move |outcome| {
            listener.report(
                outcome,
                |names| handle::publish(Strings::new(names)),
                // SAFETY: a function of this type, as the caller gave it.
                |function, status, names, error, data| unsafe {
                    function(status, names.unwrap_or(std::ptr::null_mut()), error, data);
                },
            );
        })
    })
}

fn ensure(client: *const zkr_client, path: *const c_char) -> Result<Call<()>> {
    call(client, input::text("path", path), |nodes, path| async move { nodes.ensure(&path).await })
}

/// Creates a node and all that is missing above it; no matter if it exists.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_ensure(
    client: *mut zkr_client,
    path: *const c_char,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || ensure(client, path)?.wait())
}

/// zkr_nodes_ensure in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_ensure_async(
    client: *mut zkr_client,
    path: *const c_char,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let listener = Listener::new(callback, user_data)?;
        ensure(client, path)?.start(move |outcome| listener.done(outcome))
    })
}

fn delete_all(client: *const zkr_client, path: *const c_char) -> Result<Call<()>> {
    call(client, input::text("path", path), |nodes, path| async move { nodes.delete_all(&path).await })
}

/// Deletes a node and everything below it; no matter if it is gone.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_delete_all(
    client: *mut zkr_client,
    path: *const c_char,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || delete_all(client, path)?.wait())
}

/// zkr_nodes_delete_all in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_delete_all_async(
    client: *mut zkr_client,
    path: *const c_char,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let listener = Listener::new(callback, user_data)?;
        delete_all(client, path)?.start(move |outcome| listener.done(outcome))
    })
}
