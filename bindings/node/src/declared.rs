//! A membership or a binding on its way to who declared it: `node/lib` receives it, unless the caller has withdrawn.

use napi_derive::napi;
use zkrecipes::drive;

use crate::event_loop::drop_quietly;

/// Undone when it is collected before it was received.
#[napi(custom_finalize)]
pub struct Declared(Option<drive::Declared>);

drop_quietly!(Declared);

impl From<drive::Declared> for Declared {
    fn from(declared: drive::Declared) -> Declared {
        Declared(Some(declared))
    }
}

#[napi]
impl Declared {
    #[napi(catch_unwind)]
    pub fn receive(&mut self) {
        if let Some(declared) = self.0.take() {
            declared.receive();
        }
    }

    /// In the background.
    #[napi(catch_unwind)]
    pub fn undo(&mut self) {
        drop(self.0.take());
    }
}
