//! What options are made of: `node/lib` has checked names and types; values are checked by the core. The options themselves
//! are in `generated`, of `api/`.

use std::time::Duration;

use napi::bindgen_prelude::{Buffer, Either};
use napi_derive::napi;
use zkrecipes::{AclChoice, AclEntry, Auth, Error, Result, time};

/// What the core takes for "as long as it likes": the wire carries milliseconds in a signed 32 bit number.
pub const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

#[napi(object)]
pub struct Credential {
    pub scheme: String,
    pub credential: Buffer,
}

#[napi(object)]
pub struct Grant {
    pub scheme: String,
    pub id: String,
    pub permissions: String,
}

/// A number of milliseconds, or the default when none was given. For ever becomes `forever`.
pub fn span(argument: &str, ms: Option<f64>, forever: Duration, default: Duration) -> Result<Duration> {
    span_if_any(argument, ms, forever).map(|given| given.unwrap_or(default))
}

pub fn span_if_any(argument: &str, ms: Option<f64>, forever: Duration) -> Result<Option<Duration>> {
    ms.map(|ms| Ok(time::from_js_millis(argument, ms)?.unwrap_or(forever))).transpose()
}

pub fn credentials(given: Option<Vec<Credential>>) -> Vec<Auth> {
    given.into_iter().flatten().map(|one| Auth::new(one.scheme, one.credential.to_vec())).collect()
}

pub fn acl(given: Option<Either<String, Vec<Grant>>>) -> Result<AclChoice> {
    match given {
        None => Ok(AclChoice::Default),
        Some(Either::A(name)) => match name.as_str() {
            "open" => Ok(AclChoice::Open),
            "creator" => Ok(AclChoice::Creator),
            other => Err(Error::invalid(
                "acl",
                format!("{other:?} is not one of open, creator, or a list of entries"),
            )),
        },
        Some(Either::B(list)) => Ok(AclChoice::List(
            list.into_iter().map(|entry| AclEntry::new(entry.scheme, entry.id, entry.permissions)).collect(),
        )),
    }
}

/// A time that ends.
pub fn finite(argument: &str, ms: f64) -> Result<Duration> {
    time::finite_js_millis(argument, ms)
}
