//! As `core/src/drive/mod.rs`, with what these files of it need.

use std::time::Duration;

use any_call::{AnyCall, AnyDone, vanished};

use crate::error::Result;
use crate::runtime::{self, Later};

#[path = "../../../core/src/drive/any_call.rs"]
mod any_call;
#[path = "../../../core/src/drive/beginning.rs"]
mod beginning;
#[path = "../../../core/src/drive/waiting.rs"]
mod waiting;

pub(crate) use self::waiting::wait;

pub(crate) fn begin(task: Later<()>) {
    beginning::begin(task);
}

/// Nobody withdraws anything here.
#[derive(Clone)]
pub struct CancelToken;

impl CancelToken {
    fn new() -> CancelToken {
        CancelToken
    }

    fn cancel(&self) {}
}

type Tokens = [Option<CancelToken>; 2];

pub struct Tick<'a> {
    pub every: Duration,
    pub hook: &'a mut dyn FnMut() -> bool,
}

fn check_may_wait() -> Result<()> {
    runtime::check_may_block()
}

fn settled(call: AnyCall, _tokens: Tokens) -> AnyCall {
    call
}

fn run(_call: AnyCall, _tokens: Tokens, done: AnyDone) {
    done(Err(vanished()));
}
