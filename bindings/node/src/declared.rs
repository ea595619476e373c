//! A membership, a binding or a put on its way to who asked for it: `node/lib` receives it, unless the caller has withdrawn.

use napi_derive::napi;
use zkrecipes::drive;

use crate::event_loop::drop_quietly;

/// Undone when it is collected before it was received.
#[napi(custom_finalize)]
pub struct Declared(Option<Kind>);

enum Kind {
    Kept(drive::Declared),
    Done(drive::Done),
}

drop_quietly!(Declared);

impl From<drive::Declared> for Declared {
    fn from(declared: drive::Declared) -> Declared {
        Declared(Some(Kind::Kept(declared)))
    }
}

impl From<drive::Done> for Declared {
    fn from(done: drive::Done) -> Declared {
        Declared(Some(Kind::Done(done)))
    }
}

#[napi]
impl Declared {
    #[napi(catch_unwind)]
    pub fn receive(&mut self) {
        match self.0.take() {
            Some(Kind::Kept(declared)) => declared.receive(),
            Some(Kind::Done(done)) => done.receive(),
            None => {}
        }
    }

    /// In the background.
    #[napi(catch_unwind)]
    pub fn undo(&mut self) {
        drop(self.0.take());
    }
}
