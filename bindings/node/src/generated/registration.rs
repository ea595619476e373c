//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::remote::{Remote, same};
use crate::services::Service;

#[napi(custom_finalize)]
pub struct Registration(pub(crate) Remote<zkrecipes::Registration>);

drop_quietly!(Registration);

impl Registration {
    pub fn new(core: zkrecipes::Registration, inbox: &Inbox) -> Registration {
        Registration(Remote::new(core, inbox))
    }
}

#[napi]
impl Registration {
    #[napi(catch_unwind)]
    pub fn id(&self) -> &str {
        self.0.id()
    }

    #[napi(catch_unwind)]
    pub fn service(&self) -> Service {
        self.0.service().into()
    }

    #[napi(catch_unwind)]
    pub fn unregister(&self) -> f64 {
        self.0.ask(|it| async move { it.unregister().await }, same)
    }
}
