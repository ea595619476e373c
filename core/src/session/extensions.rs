//! What recipes keep once per client, each kind of thing by its type, so that the session knows no recipe.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use crate::mutex::lock;
use crate::sync::Mutex;

#[derive(Default)]
pub(crate) struct Extensions(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Extensions {
    /// The one `T` of this client.
    pub(crate) fn of<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut kept = lock(&self.0);
        let one = kept.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default())).clone();
        one.downcast().unwrap_or_else(|_| unreachable!("it is kept by its own type"))
    }
}
