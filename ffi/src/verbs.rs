//! The shapes that verbs have: *convert, drive, convert*, written once for all of them.
//!
//! The functions of C that use them are generated from `api/`, where each verb is described once.

use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::future::ready;
use std::sync::Arc;

use zkrecipes::drive::{AnyAnswer, AnyCall, answer_of, any_call};
use zkrecipes::{Client, Error, ErrorKind, Feed, Result, Subscription, drive};

use crate::answers::{Fill, Report, Tell, Told};
use crate::cancel::{self, zkr_cancel_token};
use crate::error::{zkr_error, zkr_status};
use crate::events::{self, Door, Listener, SubscriptionHandle, zkr_subscription};
use crate::guard;
use crate::handle::{self, AnyObject, Kind, Object};
use crate::input::HandlePlace;

/// A handle that has verbs.
pub(crate) trait Holder: Object {
    fn client(&self) -> &Client;
}

/// A recipe at a path.
pub(crate) struct Recipe<C> {
    pub(crate) client: Client,
    pub(crate) core: C,
    pub(crate) path: CString,
    pub(crate) is_part: bool,
}

impl<C> Holder for Recipe<C>
where
    Recipe<C>: Object,
{
    fn client(&self) -> &Client {
        &self.client
    }
}

/// The object behind a handle, which is called like its type in the header.
pub(crate) fn get<H: Object>(given: *const H::Opaque) -> Result<Arc<H>> {
    handle::get(argument(H::NAME), given)
}

fn argument(name: &str) -> &str {
    name.strip_prefix("zkr_").unwrap_or(name)
}

/// A handle that has verbs, without its type. What all verbs have in common is there once: there are three hundred of them.
struct Given {
    handle: usize,
    kind: Kind,
    client: fn(&AnyObject) -> &Client,
}

impl Given {
    fn of<H: Holder>(handle: *const H::Opaque) -> Given {
        Given { handle: handle.addr(), kind: Kind::of::<H>(), client: |object| holder::<H>(object).client() }
    }

    fn object(&self) -> Result<AnyObject> {
        handle::get_any(argument(self.kind.name), self.handle, self.kind)
    }
}

fn holder<H: Object>(object: &AnyObject) -> &H {
    object.downcast_ref().expect("the type was checked at the lookup")
}

/// How a verb is called: its caller waits for it, or is told.
pub(crate) enum Way<'a, P, C> {
    Waits { token: *const zkr_cancel_token, error: *mut *mut zkr_error, place: &'a dyn Fn() -> Result<P> },
    Starts { token: *const zkr_cancel_token, callback: C, user_data: *mut c_void },
}

/// Begins a verb, either way.
pub(crate) fn call<H: Holder, P: Fill<T>, C: Report<T>, T, F>(
    given: *const H::Opaque,
    way: Way<'_, P, Option<C>>,
    begin: impl FnOnce(&H) -> Result<F>,
) -> zkr_status
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    match way {
        Way::Waits { token, error, place } => wait(given, token, error, place, begin),
        Way::Starts { token, callback, user_data } => start(given, token, callback, user_data, begin),
    }
}

/// Begins a verb and waits for it.
fn wait<H: Holder, P: Fill<T>, T, F>(
    given: *const H::Opaque,
    token: *const zkr_cancel_token,
    error: *mut *mut zkr_error,
    place: impl FnOnce() -> Result<P>,
    begin: impl FnOnce(&H) -> Result<F>,
) -> zkr_status
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let (mut place, mut begin, known) = (Some(place), Some(begin), Cell::new(None));
    wait_any(
        Given::of::<H>(given),
        token,
        error,
        &mut || place.take().expect(ONCE)().map(|place| known.set(Some(place))),
        &mut |object| begin.take().expect(ONCE)(holder(object)).map(any_call),
        &mut |client, found| known.take().expect(ONCE).fill(client, answer_of(Ok(found))?),
    )
}

/// The steps of a verb.
const ONCE: &str = "each is taken once";

fn wait_any(
    given: Given,
    token: *const zkr_cancel_token,
    error: *mut *mut zkr_error,
    place: &mut dyn FnMut() -> Result<()>,
    begin: &mut dyn FnMut(&AnyObject) -> Result<AnyCall>,
    fill: &mut dyn FnMut(&Client, AnyAnswer) -> Result<()>,
) -> zkr_status {
    guard::verb(error, || {
        place()?;
        let object = given.object()?;
        let token = cancel::token(token)?;
        let found = events::wait_any(token.as_ref(), || begin(&object))?;
        fill((given.client)(&object), found)
    })
}

/// The same in the background. What is wrong with the arguments surfaces in the callback, like everything else.
fn start<H: Holder, C: Report<T>, T, F>(
    given: *const H::Opaque,
    token: *const zkr_cancel_token,
    callback: Option<C>,
    user_data: *mut c_void,
    begin: impl FnOnce(&H) -> Result<F>,
) -> zkr_status
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let mut begin = Some(begin);
    start_any(
        Given::of::<H>(given),
        token,
        &|| {
            let listener = Listener::new(callback, user_data)?;
            Ok(Box::new(move |client, outcome| C::report(listener, client, answer_of(outcome))))
        },
        &mut |object| begin.take().expect(ONCE)(holder(object)).map(any_call),
    )
}

/// Tells C how a call ended.
type AnyReport = Box<dyn FnOnce(&Client, Result<AnyAnswer>) + Send>;

fn start_any(
    given: Given,
    token: *const zkr_cancel_token,
    report: &dyn Fn() -> Result<AnyReport>,
    begin: &mut dyn FnMut(&AnyObject) -> Result<AnyCall>,
) -> zkr_status {
    guard::verdict(|| {
        let object = given.object()?;
        let token = cancel::token(token)?;
        let report = report()?;
        let client = (given.client)(&object).clone();
        // Begun here and not at its first poll, so that a cancel of the handle right after the call means this call.
        let begun = cancel::begin(token.as_ref(), || begin(&object));
        let call = begun.unwrap_or_else(|error| any_call(ready(Err::<(), _>(error))));
        let told = client.clone();
        events::start_any(&client, token, call, move |outcome| report(&told, outcome))
    })
}

/// A verb that waits for nothing.
pub(crate) fn now<H: Holder, P: Fill<T>, T>(
    given: *const H::Opaque,
    error: *mut *mut zkr_error,
    place: impl FnOnce() -> Result<P>,
    verb: impl FnOnce(&H) -> Result<T>,
) -> zkr_status {
    guard::verb(error, || {
        let place = place()?;
        let holder = get::<H>(given)?;
        let found = verb(&holder)?;
        place.fill(holder.client(), found)
    })
}

/// A question that has an answer for every handle, also for one that cannot be used.
pub(crate) fn ask<H: Object, T>(
    given: *const H::Opaque,
    otherwise: T,
    question: impl FnOnce(&H) -> Option<T>,
) -> T {
    guard::answer(otherwise, || question(&*get::<H>(given).ok()?))
}

/// Tells what a feed says until it is freed, and how it ended if that was earlier.
pub(crate) fn stream<H: Holder, C: Tell<Result<T>>, T: Send + 'static>(
    given: *const H::Opaque,
    callback: Option<C>,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
    open: impl FnOnce(&H) -> Result<Feed<T>>,
) -> zkr_status {
    subscribe(given, callback, user_data, subscription, error, |holder: &H, told| {
        let last = told.clone();
        drive::feed(
            holder.client(),
            open(holder)?,
            move |item| told.tell(Ok(item)),
            move |end| last.tell(Err(end.unwrap_or_else(closed))),
        )
    })
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the client was closed; nothing more will be told")
}

/// Frees a handle, unless it is a part of another one; `last` is what it does then.
pub(crate) fn free<H: Object>(given: *mut H::Opaque, last: impl FnOnce(&H)) {
    guard::quietly(|| {
        if get::<H>(given).is_ok_and(|holder| holder.is_part()) {
            return;
        }
        if let Some(holder) = handle::take::<H>(given) {
            last(&holder);
        }
    });
}

/// For a callback that nothing would ever call once the client is closed.
pub(crate) fn check_open(holder: &impl Holder) -> Result<()> {
    drive::check_open(holder.client())
}

/// Puts a callback in place.
pub(crate) fn subscribe<H: Holder, C: Copy>(
    given: *const H::Opaque,
    callback: Option<C>,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
    enlist: impl FnOnce(&H, Told<C>) -> Result<Subscription>,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::optional(subscription);
        let holder = get::<H>(given)?;
        let listener = Listener::new(callback, user_data)?;
        let door = Door::new(user_data);
        let core = enlist(&holder, Told { listener, door: Arc::clone(&door) })?;
        place.put(|| handle::publish(SubscriptionHandle::new(core, door)))
    })
}
