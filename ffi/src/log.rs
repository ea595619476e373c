//! What the library says of itself: to callbacks of C's, and to stderr where the environment asks for it.

use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, Once};

use zkrecipes::drive::log::{self, Level, Record, Value};
use zkrecipes::{Error, Result};

use crate::error::{zkr_error, zkr_status};
use crate::events::{Door, Listener, SubscriptionHandle, zkr_subscription};
use crate::guard;
use crate::handle;
use crate::input::{self, HandlePlace, to_c};

/// How much what is said matters; as a limit, each includes those before it.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum zkr_log_level {
    // --- generated from api: values of LogLevel
    /// Nothing: only as a limit.
    ZKR_LOG_OFF = 0,
    /// Something is lost, or does not work.
    ZKR_LOG_ERROR = 1,
    /// Something is about to be lost, or somebody should look.
    ZKR_LOG_WARN = 2,
    /// What happened, once for each thing that happens now and then.
    ZKR_LOG_INFO = 3,
    /// Each acquisition and each retry.
    ZKR_LOG_DEBUG = 4,
    /// Whatever else there is.
    ZKR_LOG_TRACE = 5,
    // --- end of generated
}

/// A zkr_log_level from C.
#[repr(transparent)]
pub struct GivenLogLevel(i32);

/// A detail of what is said.
#[repr(C)]
pub struct zkr_log_field {
    /// What it tells, such as "session" or "waited_ms".
    pub name: *const c_char,
    /// As text.
    pub value: *const c_char,
    /// The value where it is a number or a truth; otherwise 0.
    pub number: i64,
    /// Whether it is one.
    pub is_number: bool,
    /// Zero.
    pub reserved: [u8; 7],
}

/// One thing that the library says. event is a word of the table in docs/observability.md, message a sentence, and there are
/// count fields. All of it is only lent.
pub type zkr_log_callback = Option<
    unsafe extern "C" fn(
        level: zkr_log_level,
        event: *const c_char,
        message: *const c_char,
        fields: *const zkr_log_field,
        count: usize,
        user_data: *mut c_void,
    ),
>;

type OnLog = unsafe extern "C" fn(
    zkr_log_level,
    *const c_char,
    *const c_char,
    *const zkr_log_field,
    usize,
    *mut c_void,
);

/// What ZKRECIPES_LOG asks for goes to stderr; the first call looks.
pub(crate) fn begin() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let asked = std::env::var("ZKRECIPES_LOG").ok().and_then(|level| Level::of(&level));
        if let Some(level) = asked.filter(|level| *level != Level::Off) {
            log::to_stderr(level);
        }
    });
}

fn level(given: &GivenLogLevel) -> Result<Level> {
    let known = u8::try_from(given.0).ok().and_then(Level::numbered);
    known.ok_or_else(|| Error::invalid("level", format!("{} is no zkr_log_level", given.0)))
}

fn level_of(level: Level) -> zkr_log_level {
    match level {
        Level::Off => zkr_log_level::ZKR_LOG_OFF,
        Level::Error => zkr_log_level::ZKR_LOG_ERROR,
        Level::Warn => zkr_log_level::ZKR_LOG_WARN,
        Level::Info => zkr_log_level::ZKR_LOG_INFO,
        Level::Debug => zkr_log_level::ZKR_LOG_DEBUG,
        Level::Trace => zkr_log_level::ZKR_LOG_TRACE,
    }
}

/// Calls back with what the library says of itself, up to a level: about connections, sessions, leases, waits and losses of
/// all clients of this process. Nothing is said before somebody listens, and without this nothing is written anywhere, unless
/// ZKRECIPES_LOG in the environment (error, warn, info, debug) has it written to stderr.
///
/// The callback comes on a thread of the library that does nothing else: it may take its time, but what it does not come to
/// is dropped and counted. subscription may be NULL to leave it in place for good; otherwise end it with
/// zkr_subscription_free. Each call of this takes a few hundred bytes that are never freed: listen once, not again and again.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_on_log(
    most: GivenLogLevel,
    callback: zkr_log_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::optional(subscription);
        let listener = Listener::new(callback, user_data)?;
        let most = level(&most)?;
        let door = Door::new(user_data);
        let entrance = Arc::clone(&door);
        let ear = log::listen(most, move |record| entrance.pass(|| tell(listener, record)));
        let core = zkrecipes::drive::subscription(move || ear.set_level(Level::Off));
        place.put(|| handle::publish(SubscriptionHandle::new(core, door)))
    })
}

fn tell(listener: Listener<OnLog>, record: &Record) {
    let texts: Vec<(CString, CString, Option<i64>)> = record
        .fields
        .iter()
        .map(|(name, value)| match value {
            Value::Number(number) => (to_c(name), to_c(&number.to_string()), Some(*number)),
            Value::Flag(flag) => (to_c(name), to_c(&flag.to_string()), Some(i64::from(*flag))),
            Value::Text(text) => (to_c(name), to_c(text), None),
        })
        .collect();
    let field = |(name, value, number): &(CString, CString, Option<i64>)| zkr_log_field {
        name: name.as_ptr(),
        value: value.as_ptr(),
        number: number.unwrap_or(0),
        is_number: number.is_some(),
        reserved: [0; 7],
    };
    let fields: Vec<_> = texts.iter().map(field).collect();
    let (event, message) = (to_c(&record.event), to_c(&record.message));
    let level = level_of(record.level);
    listener.call(|function, data| {
        // SAFETY: a function of this type, as the caller gave it; what it is lent lives until it returns.
        unsafe { function(level, event.as_ptr(), message.as_ptr(), fields.as_ptr(), fields.len(), data) };
    });
}

/// Says something to whoever listens (zkr_on_log, ZKRECIPES_LOG), as the C++ interface does where it cannot throw.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_log(level_of_it: GivenLogLevel, event: *const c_char, message: *const c_char) {
    guard::quietly(|| {
        let said = || {
            let level = level(&level_of_it)?;
            Ok::<_, Error>((level, input::text("event", event)?, input::text("message", message)?))
        };
        if let Ok((level, event, message)) = said() {
            log::say(level, &event, &message);
        }
    });
}

/// The name of a level: "off", "error", "warn", "info", "debug", "trace".
#[unsafe(no_mangle)]
pub extern "C" fn zkr_log_level_name(level: GivenLogLevel) -> *const c_char {
    let name = match level.0 {
        // --- generated from api: names of LogLevel
        0 => c"off",
        1 => c"error",
        2 => c"warn",
        3 => c"info",
        4 => c"debug",
        5 => c"trace",
        // --- end of generated
        _ => c"unknown",
    };
    name.as_ptr()
}
