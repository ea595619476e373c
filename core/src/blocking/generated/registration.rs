//! Generated from api/registration.toml by api/generate; do not edit.

use crate::drive::wait;
use crate::{Result, Service};

/// [`crate::Registration`], blocking.
#[derive(Clone, Debug)]
pub struct Registration {
    pub(in crate::blocking) core: crate::Registration,
}

impl Registration {
    pub(in crate::blocking) fn of(core: crate::Registration) -> Registration {
        Registration { core }
    }

    /// See [`crate::Registration::id`].
    pub fn id(&self) -> &str {
        self.core.id()
    }

    /// See [`crate::Registration::service`].
    pub fn service(&self) -> Service {
        self.core.service()
    }

    /// See [`crate::Registration::update`].
    pub fn update(&self, service: Service) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.update(service).await }, None, None)
    }

    /// See [`crate::Registration::unregister`].
    pub fn unregister(&self) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.unregister().await }, None, None)
    }
}
