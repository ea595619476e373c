//! What verbs find, on its way to C: once for each type, in the places of a blocking form and in the callback of the other.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use zkrecipes::drive::{Done, Granted};
use zkrecipes::{
    Cached, Client, Contender, Error, PartResult, QueueStats, Result, Stat, Transaction, Versioned,
};

use crate::collections::{Buffer, Strings, zkr_buffer, zkr_strings};
use crate::error::{zkr_error, zkr_status};
use crate::events::{self, Door, Listener};
use crate::handle::{self, Object};
use crate::held::HeldHandle;
use crate::input::{HandlePlace, Place};
use crate::items::zkr_queue_counts;
use crate::lists::{Contenders, PartResults};
use crate::nodes::zkr_stat;
use crate::transaction::TransactionHandle;
use crate::verbs::Recipe;

/// What becomes a handle of its own in C.
pub(crate) trait Handed: Send + 'static {
    type Object: Object;

    fn object(self, client: &Client) -> Self::Object;
}

type Opaque<T> = <<T as Handed>::Object as Object>::Opaque;

impl Handed for Granted {
    type Object = HeldHandle;

    fn object(self, client: &Client) -> HeldHandle {
        HeldHandle::new(client.clone(), self.keep())
    }
}

impl Handed for Transaction {
    type Object = TransactionHandle;

    fn object(self, client: &Client) -> TransactionHandle {
        TransactionHandle::new(client.clone(), self)
    }
}

impl<C: Send + 'static> Handed for Recipe<C>
where
    Recipe<C>: Object,
{
    type Object = Recipe<C>;

    fn object(self, _: &Client) -> Recipe<C> {
        self
    }
}

impl Handed for Vec<Contender> {
    type Object = Contenders;

    fn object(self, _: &Client) -> Contenders {
        Contenders::of(&self)
    }
}

impl Handed for Vec<PartResult> {
    type Object = PartResults;

    fn object(self, _: &Client) -> PartResults {
        PartResults::of(&self)
    }
}

impl Handed for Vec<String> {
    type Object = Strings;

    fn object(self, _: &Client) -> Strings {
        Strings::new(self)
    }
}

impl Handed for String {
    type Object = Buffer;

    fn object(self, _: &Client) -> Buffer {
        Buffer::new(self.into_bytes())
    }
}

// ---- the blocking form: places of the caller's

/// Where the caller of a blocking form wants what the verb finds.
pub(crate) trait Fill<T> {
    fn fill(self, client: &Client, found: T) -> Result<()>;
}

impl Fill<()> for () {
    fn fill(self, _: &Client, (): ()) -> Result<()> {
        Ok(())
    }
}

/// What was done is the caller's only now.
impl Fill<Done> for () {
    fn fill(self, _: &Client, done: Done) -> Result<()> {
        done.receive();
        Ok(())
    }
}

impl<T: Default> Fill<T> for Place<T> {
    fn fill(self, _: &Client, found: T) -> Result<()> {
        self.put(found);
        Ok(())
    }
}

impl<T: Handed> Fill<T> for HandlePlace<Opaque<T>> {
    fn fill(self, client: &Client, found: T) -> Result<()> {
        // Made in any case: what was acquired is kept by its handle also if nobody wants the acquisition itself.
        let object = found.object(client);
        self.put(|| handle::publish(object))
    }
}

impl Fill<Stat> for Place<zkr_stat> {
    fn fill(self, _: &Client, found: Stat) -> Result<()> {
        self.put(found.into());
        Ok(())
    }
}

impl Fill<QueueStats> for Place<zkr_queue_counts> {
    fn fill(self, _: &Client, found: QueueStats) -> Result<()> {
        self.put(found.into());
        Ok(())
    }
}

impl Fill<Option<Stat>> for (Place<bool>, Place<zkr_stat>) {
    fn fill(self, client: &Client, found: Option<Stat>) -> Result<()> {
        self.0.put(found.is_some());
        found.map_or(Ok(()), |stat| self.1.fill(client, stat))
    }
}

impl Fill<(Vec<u8>, Stat)> for (HandlePlace<zkr_buffer>, Place<zkr_stat>) {
    fn fill(self, client: &Client, (bytes, stat): (Vec<u8>, Stat)) -> Result<()> {
        self.1.fill(client, stat)?;
        self.0.put(|| handle::publish(Buffer::new(bytes)))
    }
}

impl Fill<Option<(Vec<u8>, Stat)>> for (Place<bool>, HandlePlace<zkr_buffer>, Place<zkr_stat>) {
    fn fill(self, client: &Client, found: Option<(Vec<u8>, Stat)>) -> Result<()> {
        self.0.put(found.is_some());
        found.map_or(Ok(()), |found| (self.1, self.2).fill(client, found))
    }
}

impl Fill<Option<Vec<String>>> for (Place<bool>, HandlePlace<zkr_strings>) {
    fn fill(self, client: &Client, found: Option<Vec<String>>) -> Result<()> {
        self.0.put(found.is_some());
        found.map_or(Ok(()), |names| self.1.fill(client, names))
    }
}

impl Fill<Duration> for Place<i64> {
    fn fill(self, _: &Client, found: Duration) -> Result<()> {
        self.put(i64::try_from(found.as_millis()).unwrap_or(i64::MAX));
        Ok(())
    }
}

// ---- the form in the background: a callback that comes once

/// A callback that is told how a verb ended.
pub(crate) trait Report<T>: Copy + Send + 'static {
    fn report(listener: Listener<Self>, client: &Client, outcome: Result<T>);
}

impl Report<()> for unsafe extern "C" fn(zkr_status, *const zkr_error, *mut c_void) {
    fn report(listener: Listener<Self>, _: &Client, outcome: Result<()>) {
        listener.done(outcome);
    }
}

impl Report<Done> for unsafe extern "C" fn(zkr_status, *const zkr_error, *mut c_void) {
    fn report(listener: Listener<Self>, _: &Client, outcome: Result<Done>) {
        listener.done(outcome.map(Done::receive));
    }
}

impl Report<bool> for unsafe extern "C" fn(zkr_status, bool, *const zkr_error, *mut c_void) {
    fn report(listener: Listener<Self>, _: &Client, outcome: Result<bool>) {
        // SAFETY: a function of this type, as the caller gave it.
        listener.report(outcome, Ok, |function, status, answer, error, data| unsafe {
            function(status, answer.unwrap_or(false), error, data);
        });
    }
}

impl Report<i64> for unsafe extern "C" fn(zkr_status, i64, *const zkr_error, *mut c_void) {
    fn report(listener: Listener<Self>, _: &Client, outcome: Result<i64>) {
        Tell::tell(listener, outcome);
    }
}

impl Tell<Result<i64>> for unsafe extern "C" fn(zkr_status, i64, *const zkr_error, *mut c_void) {
    fn tell(listener: Listener<Self>, told: Result<i64>) {
        // SAFETY: a function of this type, as the caller gave it.
        listener.report(told, Ok, |function, status, number, error, data| unsafe {
            function(status, number.unwrap_or(0), error, data);
        });
    }
}

impl Report<usize> for unsafe extern "C" fn(zkr_status, i64, *const zkr_error, *mut c_void) {
    fn report(listener: Listener<Self>, client: &Client, outcome: Result<usize>) {
        Report::report(listener, client, outcome.map(|count| i64::try_from(count).unwrap_or(i64::MAX)));
    }
}

impl<T: Handed> Report<T> for unsafe extern "C" fn(zkr_status, *mut Opaque<T>, *const zkr_error, *mut c_void)
where
    Opaque<T>: 'static,
{
    fn report(listener: Listener<Self>, client: &Client, outcome: Result<T>) {
        listener.report(
            outcome,
            |found| handle::publish(found.object(client)),
            // SAFETY: a function of this type, as the caller gave it.
            |function, status, handle, error, data| unsafe {
                function(status, handle.unwrap_or(std::ptr::null_mut()), error, data);
            },
        );
    }
}

type OfStat = unsafe extern "C" fn(zkr_status, *const zkr_stat, *const zkr_error, *mut c_void);

impl Report<Option<Stat>> for OfStat {
    fn report(listener: Listener<Self>, _: &Client, outcome: Result<Option<Stat>>) {
        listener.report(
            outcome,
            |stat| Ok(stat.map(zkr_stat::from)),
            // SAFETY: a function of this type, as the caller gave it; the stat outlives the call.
            |function, status, stat, error, data| unsafe {
                function(
                    status,
                    stat.flatten().as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                    error,
                    data,
                );
            },
        );
    }
}

impl Report<Stat> for OfStat {
    fn report(listener: Listener<Self>, client: &Client, outcome: Result<Stat>) {
        Report::report(listener, client, outcome.map(Some));
    }
}

type OfQueueStats = unsafe extern "C" fn(zkr_status, *const zkr_queue_counts, *const zkr_error, *mut c_void);

impl Report<QueueStats> for OfQueueStats {
    fn report(listener: Listener<Self>, _: &Client, outcome: Result<QueueStats>) {
        listener.report(
            outcome,
            |stats| Ok(zkr_queue_counts::from(stats)),
            // SAFETY: a function of this type, as the caller gave it; the stats outlive the call.
            |function, status, stats, error, data| unsafe {
                function(status, stats.as_ref().map_or(std::ptr::null(), std::ptr::from_ref), error, data);
            },
        );
    }
}

type OfBuffer =
    unsafe extern "C" fn(zkr_status, *mut zkr_buffer, *const zkr_stat, *const zkr_error, *mut c_void);

impl Report<(Vec<u8>, Option<Stat>)> for OfBuffer {
    fn report(listener: Listener<Self>, _: &Client, outcome: Result<(Vec<u8>, Option<Stat>)>) {
        listener.report(
            outcome,
            |(bytes, stat)| Ok((handle::publish(Buffer::new(bytes))?, stat.map(zkr_stat::from))),
            // SAFETY: a function of this type, as the caller gave it; the stat outlives the call.
            |function, status, read, error, data| unsafe {
                let (buffer, stat) = read.unwrap_or((std::ptr::null_mut(), None));
                function(
                    status,
                    buffer,
                    stat.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                    error,
                    data,
                );
            },
        );
    }
}

impl Report<(Vec<u8>, Stat)> for OfBuffer {
    fn report(listener: Listener<Self>, client: &Client, outcome: Result<(Vec<u8>, Stat)>) {
        Report::report(listener, client, outcome.map(|(bytes, stat)| (bytes, Some(stat))));
    }
}

impl Report<String> for OfBuffer {
    fn report(listener: Listener<Self>, client: &Client, outcome: Result<String>) {
        Report::report(listener, client, outcome.map(|text| (text.into_bytes(), None)));
    }
}

impl Fill<Option<Vec<u8>>> for HandlePlace<zkr_buffer> {
    fn fill(self, _: &Client, found: Option<Vec<u8>>) -> Result<()> {
        found.map_or(Ok(()), |bytes| self.put(|| handle::publish(Buffer::new(bytes))))
    }
}

impl Report<Option<Vec<u8>>> for OfBuffer {
    fn report(listener: Listener<Self>, _: &Client, outcome: Result<Option<Vec<u8>>>) {
        listener.report(
            outcome,
            |found| found.map(|bytes| handle::publish(Buffer::new(bytes))).transpose(),
            // SAFETY: a function of this type, as the caller gave it.
            |function, status, found, error, data| unsafe {
                function(
                    status,
                    found.flatten().unwrap_or(std::ptr::null_mut()),
                    std::ptr::null(),
                    error,
                    data,
                );
            },
        );
    }
}

// ---- a value with a version

type OfVersioned = unsafe extern "C" fn(zkr_status, *const zkr_buffer, i32, *const zkr_error, *mut c_void);

impl Fill<Option<Versioned>> for (HandlePlace<zkr_buffer>, Place<i32>) {
    fn fill(self, _: &Client, found: Option<Versioned>) -> Result<()> {
        let Some(found) = found else { return Ok(()) };
        self.1.put(found.version);
        self.0.put(|| handle::publish(Buffer::new(found.value)))
    }
}

impl Fill<Option<Cached>> for (Place<bool>, HandlePlace<zkr_buffer>, Place<i32>, Place<i64>) {
    fn fill(self, client: &Client, found: Option<Cached>) -> Result<()> {
        self.0.put(found.is_some());
        let Some(found) = found else { return Ok(()) };
        self.3.fill(client, found.age)?;
        (self.1, self.2).fill(client, found.value)
    }
}

impl Tell<Result<Option<Versioned>>> for OfVersioned {
    fn tell(listener: Listener<Self>, told: Result<Option<Versioned>>) {
        listener.report(
            told,
            |found| {
                let version = found.as_ref().map_or(0, |found| found.version);
                Ok((found.map(|found| handle::publish(Buffer::new(found.value))).transpose()?, version))
            },
            // SAFETY: a function of this type, as the caller gave it.
            |function, status, found, error, data| {
                let (value, version) = found.unwrap_or((None, 0));
                let value = value.unwrap_or(std::ptr::null_mut());
                unsafe { function(status, value, version, error, data) };
                drop(handle::take::<Buffer>(value));
            },
        );
    }
}

impl Report<Option<Versioned>> for OfVersioned {
    fn report(listener: Listener<Self>, _: &Client, outcome: Result<Option<Versioned>>) {
        Tell::tell(listener, outcome);
    }
}

impl Report<i32> for unsafe extern "C" fn(zkr_status, i64, *const zkr_error, *mut c_void) {
    fn report(listener: Listener<Self>, client: &Client, outcome: Result<i32>) {
        Report::report(listener, client, outcome.map(i64::from));
    }
}

// ---- a subscription: a callback that may come again

/// A callback that is told of something while its subscription stands.
pub(crate) trait Tell<T>: Copy + Send + Sync + 'static {
    fn tell(listener: Listener<Self>, told: T);
}

impl Tell<()> for unsafe extern "C" fn(*mut c_void) {
    fn tell(listener: Listener<Self>, (): ()) {
        // SAFETY: a function of this type, as the caller gave it.
        listener.call(|function, data| unsafe { function(data) });
    }
}

impl Tell<Error> for unsafe extern "C" fn(*const zkr_error, *mut c_void) {
    fn tell(listener: Listener<Self>, error: Error) {
        // SAFETY: a function of this type, as the caller gave it.
        events::lend(&error, |lent| listener.call(|function, data| unsafe { function(lent, data) }));
    }
}

/// A callback behind the door of its subscription.
#[derive(Clone)]
pub(crate) struct Told<C> {
    pub(crate) listener: Listener<C>,
    pub(crate) door: Arc<Door>,
}

impl<C: Copy> Told<C> {
    pub(crate) fn tell<T>(&self, told: T)
    where
        C: Tell<T>,
    {
        self.door.pass(|| C::tell(self.listener, told));
    }
}
