//! A client: connecting, closing, its state, and where its callbacks run.

use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use zkrecipes::drive;
use zkrecipes::{Client, Error, ErrorKind, Result, State, time};

use crate::cancel::{self, zkr_cancel_token};
use crate::embedded;
use crate::error::{zkr_error, zkr_status};
use crate::events::{self, Door, Listener, Queue, SubscriptionHandle, zkr_done_callback, zkr_subscription};
use crate::exit;
use crate::guard;
use crate::handle::{self, Object};
use crate::input::{self, HandlePlace};
use crate::log;
use crate::options::{self, zkr_options};
use crate::verbs::Holder;

/// A session with ZooKeeper, shared by any number of recipes and threads. After the session expired it opens a new one
/// by itself; what was held is lost for good then, what waits queues again.
pub struct zkr_client {
    _opaque: [u8; 0],
}

/// What a client knows about its session.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum zkr_state {
    // --- generated from api: values of State
    /// A server answers.
    ZKR_STATE_CONNECTED = 0,
    /// No server answers at the moment; the session may still live.
    ZKR_STATE_SUSPENDED = 1,
    /// The session has ended; a new one is being opened.
    ZKR_STATE_LOST = 2,
    /// The client was closed.
    ZKR_STATE_CLOSED = 3,
    // --- end of generated
}

/// A zkr_state from C.
#[repr(transparent)]
pub struct GivenState(i32);

/// The end of connecting. On ZKR_OK the client belongs to the callback, otherwise it is NULL; the error is only lent.
pub type zkr_client_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        client: *mut zkr_client,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// A change of state.
pub type zkr_state_callback = Option<unsafe extern "C" fn(state: zkr_state, user_data: *mut c_void)>;

pub(crate) struct ClientHandle {
    pub(crate) core: Client,
    queue: OnceLock<Arc<Queue>>,
}

impl Object for ClientHandle {
    type Opaque = zkr_client;
    const NAME: &'static str = "zkr_client";
}

impl ClientHandle {
    fn new(core: Client) -> ClientHandle {
        ClientHandle { core, queue: OnceLock::new() }
    }

    /// The queue of this client; from the first call on, all its callbacks go there.
    fn queue(&self) -> Result<&Arc<Queue>> {
        if let Some(queue) = self.queue.get() {
            return Ok(queue);
        }
        let fresh = Arc::new(Queue::new()?);
        Ok(self.queue.get_or_init(|| {
            exit::undispatched(&fresh);
            let sink = Arc::clone(&fresh);
            self.core.deliver_through(move |turn, job| sink.push(turn, job));
            fresh
        }))
    }
}

impl Holder for ClientHandle {
    fn client(&self) -> &Client {
        &self.core
    }
}

pub(crate) fn get(client: *const zkr_client) -> Result<Arc<ClientHandle>> {
    handle::get("client", client)
}

fn state(state: State) -> zkr_state {
    match state {
        State::Connected => zkr_state::ZKR_STATE_CONNECTED,
        State::Suspended => zkr_state::ZKR_STATE_SUSPENDED,
        State::Lost => zkr_state::ZKR_STATE_LOST,
        State::Closed => zkr_state::ZKR_STATE_CLOSED,
    }
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn zkr_version() -> *const c_char {
    static VERSION: OnceLock<std::ffi::CString> = OnceLock::new();
    drive::sanitizer::ours(|| VERSION.get_or_init(|| input::to_c(zkrecipes::version()))).as_ptr()
}

/// Ends the threads of the library and closes its descriptors, for a plug-in that is unloaded from a program that goes on, and for
/// tools that count what is left at the end. Nobody has to call it: a process may simply end.
///
/// First close or free every client: ZKR_INVALID says how many are open, or that one with an event fd has callbacks to be
/// dispatched. What they have left to do is waited for, and so are callbacks, each done that is owed, and what callbacks begin, for
/// up to timeout_ms (any negative: for ever). ZKR_TIMEOUT says what goes on; call it again. Inside a callback it is ZKR_DEADLOCK.
///
/// When it has answered ZKR_OK, nothing of the library is left but a server of "embedded:" and what handles keep that are not freed,
/// such as an event fd, and none of the program's callbacks is called any more. Handles may be freed later. The next client that is
/// connected starts everything anew.
///
/// No other thread may use the library meanwhile, unless it calls this, too: what it begins may never end. The shared library itself
/// stays in memory when it is unloaded: dlclose of what uses it is safe after this.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_library_shutdown(timeout_ms: i64, error: *mut *mut zkr_error) -> zkr_status {
    guard::verb(error, || {
        events::refuse_inside_callback()?;
        drive::shut_down(limit(timeout_ms))
    })
}

/// Connects to ZooKeeper.
///
/// hosts is a connect string with an optional chroot ("h1:2181,h2:2181/app"), or "embedded:" for a server inside this
/// process (memory only, for development and tests). NULL or "" takes ZKRECIPES_HOSTS from the environment. options
/// may be NULL for the defaults. On success *client belongs to the caller: free it with zkr_client_free.
///
/// Running out of connect time is ZKR_CONNECTION_LOST. What the library has to say of itself goes to those who listen
/// (zkr_on_log), and to stderr if ZKRECIPES_LOG in the environment is error, warn, info or debug.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_connect(
    hosts: *const c_char,
    options: *const zkr_options,
    client: *mut *mut zkr_client,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_client_connect_cancellable(hosts, options, std::ptr::null_mut(), client, error)
}

/// zkr_client_connect that another thread can withdraw; token may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_connect_cancellable(
    hosts: *const c_char,
    options: *const zkr_options,
    token: *mut zkr_cancel_token,
    client: *mut *mut zkr_client,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("client", client)?;
        let token = cancel::token(token)?;
        let connecting = connect(hosts, options)?;
        let core = events::wait(token.as_ref(), || Ok(connecting))?;
        place.put(|| handle::publish(ClientHandle::new(core)))
    })
}

/// zkr_client_connect in the background. The callback comes on the library's delivery thread, as there is no client
/// yet that could have been asked for its event fd.
///
/// ZKR_OK says that the callback will be called exactly once, with what is wrong with the arguments too; any other
/// status says that it never will be.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_connect_async(
    hosts: *const c_char,
    options: *const zkr_options,
    callback: zkr_client_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_client_connect_cancellable_async(hosts, options, std::ptr::null_mut(), callback, user_data)
}

/// zkr_client_connect_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_connect_cancellable_async(
    hosts: *const c_char,
    options: *const zkr_options,
    token: *mut zkr_cancel_token,
    callback: zkr_client_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let listener = Listener::new(callback, user_data)?;
        let token = cancel::token(token)?.unwrap_or_default();
        let (connecting, withdrawn) = (connect(hosts, options), token.clone());
        drive::start(async move { connecting?.await }, &token, move |outcome| {
            guard::quietly(|| {
                listener.report(
                    outcome.and_then(|client| withdrawn.check().map(|()| client)),
                    |core| handle::publish(ClientHandle::new(core)),
                    // SAFETY: a function of this type, as the caller gave it.
                    |function, status, client, error, data| unsafe {
                        function(status, client.unwrap_or(std::ptr::null_mut()), error, data);
                    },
                );
            });
        })
    })
}

fn connect(
    hosts: *const c_char,
    given: *const zkr_options,
) -> Result<impl Future<Output = Result<Client>> + Send + 'static> {
    let hosts = input::optional_text("hosts", hosts)?.unwrap_or_default();
    let options = options::read(given)?.convert()?;
    options.validate().map_err(|error| options::named_as_in_c(&error))?;
    log::begin();
    exit::watch();
    drive::embedded_by(embedded::server);
    Ok(async move { Client::connect(&hosts, options).await })
}

/// Replaces the list of servers, as when some are moved. A connection with a server of the new list stays; otherwise it goes
/// on with another one in the same session, as after a break. hosts is as for zkr_client_connect, and its chroot has to be
/// that of the client. A list that cannot be used is ZKR_INVALID, and changes nothing. It waits for no server.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_update_hosts(
    client: *mut zkr_client,
    hosts: *const c_char,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let client = get(client)?;
        client.core.update_hosts(&input::optional_text("hosts", hosts)?.unwrap_or_default())
    })
}

/// Closes the session: waiters get ZKR_CLOSED, what is held is released, deletions under way are awaited for up to
/// timeout_ms (any negative: for ever). ZKR_TIMEOUT: no server has confirmed the end of the session by then; the client is
/// closed all the same, and the servers end the session after its timeout. The handle stays valid, for dispatching the last
/// callbacks and for zkr_client_free, but every further verb on it or on its recipes is ZKR_CLOSED.
///
/// Without an event fd it returns, within timeout_ms, when the last callback of the client is over too. With one, go on
/// dispatching to have the last ones called, or call zkr_client_close_async, whose callback is the last.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_close(
    client: *mut zkr_client,
    timeout_ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let client = get(client)?;
        events::refuse_inside_callback()?;
        drive::close(&client.core, limit(timeout_ms), client.queue.get().is_none())
    })
}

/// zkr_client_close in the background. ZKR_OK says that the callback will be called exactly once; ZKR_CLOSED that the
/// client is closed already.
///
/// Its callback is the last one of the client: it comes after the ends of all other calls, which are ZKR_CLOSED for
/// those that were still waiting, and after every loss and change of state. So an event loop dispatches until it has
/// come, and frees the client then.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_close_async(
    client: *mut zkr_client,
    timeout_ms: i64,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let client = get(client)?;
        let listener = Listener::new(callback, user_data)?;
        drive::start_close(&client.core, limit(timeout_ms), move |outcome| {
            guard::quietly(|| listener.done(outcome));
        })
    })
}

fn limit(timeout_ms: i64) -> Option<Duration> {
    time::from_millis("timeout_ms", timeout_ms)
}

/// Frees a client, closing it in the background if zkr_client_close was not called. NULL and freed ones are ignored. Its
/// locks and so on stay valid handles, but every verb on them is ZKR_CLOSED. It never waits for a server.
///
/// Calls in progress end with ZKR_CLOSED. Outside callbacks it returns when the last callback of the client is over, and
/// none comes afterwards; hold no lock that a callback takes. Inside a callback, of whichever client, it never waits:
/// callbacks that are running go on, and those that are owed still come, each once. If the client was asked for its
/// event fd, those that wait to be dispatched are dropped in both cases, with what they would have handed over, and the
/// fd is closed: to see the last ones, call zkr_client_close_async and dispatch until its callback has come.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_free(client: *mut zkr_client) {
    guard::quietly(|| {
        if let Some(client) = handle::take::<ClientHandle>(client) {
            if let Some(queue) = client.queue.get() {
                queue.shut();
            }
            drive::let_go(&client.core, !events::is_inside_callback());
        }
    });
}

/// What the client knows about its session, without asking. ZKR_STATE_CLOSED for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_state(client: *const zkr_client) -> zkr_state {
    guard::answer(zkr_state::ZKR_STATE_CLOSED, || Some(state(get(client).ok()?.core.state())))
}

/// The name of a state, the same in every language of zkrecipes: "connected", "suspended", "lost", "closed".
#[unsafe(no_mangle)]
pub extern "C" fn zkr_state_name(state: GivenState) -> *const c_char {
    let name = match state.0 {
        // --- generated from api: names of State
        0 => c"connected",
        1 => c"suspended",
        2 => c"lost",
        3 => c"closed",
        // --- end of generated
        _ => c"unknown",
    };
    name.as_ptr()
}

/// The id of the session; 0 for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_session_id(client: *const zkr_client) -> u64 {
    guard::answer(0, || Some(get(client).ok()?.core.session_id()))
}

/// The session timeout in milliseconds, as negotiated with the server; 0 for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_session_timeout(client: *const zkr_client) -> i64 {
    guard::answer(0, || Some(to_millis(get(client).ok()?.core.session_timeout())))
}

/// For how many milliseconds the server certainly still honours this session; 0 while nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_lease_remaining(client: *const zkr_client) -> i64 {
    guard::answer(0, || Some(to_millis(get(client).ok()?.core.lease_remaining())))
}

pub(crate) fn to_millis(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Calls back at every change of state. subscription may be NULL to leave the callback in place for good; otherwise
/// end it with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_on_state(
    client: *mut zkr_client,
    callback: zkr_state_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::optional(subscription);
        let client = get(client)?;
        let listener = Listener::new(callback, user_data)?;
        drive::check_open(&client.core)?;
        let door = Door::new(user_data);
        let entrance = Arc::clone(&door);
        let core = client.core.on_state(move |now| {
            // SAFETY: a function of this type, as the caller gave it.
            entrance.pass(|| listener.call(|function, data| unsafe { function(state(now), data) }));
        });
        place.put(|| handle::publish(SubscriptionHandle::new(core, door)))
    })
}

/// A file descriptor for poll, epoll, libuv, glib: readable while callbacks wait for zkr_client_dispatch. On Windows it is a
/// socket, for select, WSAPoll and libuv.
///
/// From the first call on, all callbacks of this client run inside zkr_client_dispatch and nowhere else; ask before
/// starting anything asynchronous. The descriptor belongs to the client: do not read or close it. A negative number is
/// an error, -ZKR_INVALID and so on.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_event_fd(client: *mut zkr_client) -> c_int {
    number(|| get(client)?.queue()?.fd().ok_or_else(closed))
}

/// Runs up to max waiting callbacks on this thread (all that wait if max is 0 or negative) and returns how many it ran.
/// If none waits, it waits for the first one up to timeout_ms; 0 does not wait, any negative is for ever.
///
/// Works without an event fd too, as the loop of a thread of its own. Callbacks run one at a time, also if several
/// threads dispatch. A negative number is an error, -ZKR_DEADLOCK inside a callback and so on.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_dispatch(client: *mut zkr_client, max: c_int, timeout_ms: i64) -> c_int {
    number(|| {
        let client = get(client)?;
        events::refuse_inside_callback()?;
        Ok(client.queue()?.dispatch(max, time::from_millis("timeout_ms", timeout_ms)))
    })
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the client is closed; connect a new one")
}

fn number(body: impl FnOnce() -> Result<c_int>) -> c_int {
    guard::shielded(body).unwrap_or_else(|error| -(crate::error::status(error.kind()) as c_int))
}
