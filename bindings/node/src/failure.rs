//! An error on its way to JavaScript: a plain object, of which `node/lib` makes the `ZkRecipesError`, so that the stack trace
//! is that of the caller's `await` and not that of the event loop.

use napi::{Env, Status};
use napi_derive::napi;
use zkrecipes::{Error, ErrorKind, Result};

/// The fields of an error, under the names of the error table.
#[napi(object)]
pub struct Failure {
    pub code: String,
    pub message: String,
    pub retryable: bool,
    pub path: Option<String>,
    pub reason: Option<String>,
    pub put: Option<f64>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure {
            code: error.kind().name().to_string(),
            message: match error.kind() {
                ErrorKind::Invalid => in_camel_case(&error.message()),
                _ => error.message_with(camel_case),
            },
            retryable: error.is_retryable(),
            path: error.path().map(str::to_string),
            reason: error.reason().map(|reason| reason.name().to_string()),
            put: error.put().map(|put| put as f64),
        }
    }
}

/// The core names an argument as Rust writes it; here `invalid session_timeout: …` is `invalid sessionTimeout: …`.
fn in_camel_case(message: &str) -> String {
    let Some((argument, problem)) = message.strip_prefix("invalid ").and_then(|rest| rest.split_once(": "))
    else {
        return message.to_string();
    };
    format!("invalid {}: {problem}", camel_case(argument))
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut name = words.next().unwrap_or_default().to_string();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

/// Throws the failure as it is, and says so to napi, which would make an error of its own.
pub fn throw(env: &Env, error: Error) -> napi::Error {
    env.throw(Failure::from(error))
        .err()
        .unwrap_or_else(|| napi::Error::from_status(Status::PendingException))
}

/// For verbs that do not wait: their error is thrown.
pub trait OrThrow<T> {
    fn or_throw(self, env: &Env) -> napi::Result<T>;
}

impl<T> OrThrow<T> for Result<T> {
    fn or_throw(self, env: &Env) -> napi::Result<T> {
        self.map_err(|error| throw(env, error))
    }
}
