//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::nodes::{Content, Stat, stat};
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Nodes(pub(crate) Remote<zkrecipes::Nodes>);

drop_quietly!(Nodes);

impl Nodes {
    pub fn new(core: zkrecipes::Nodes, inbox: &Inbox) -> Nodes {
        Nodes(Remote::new(core, inbox))
    }
}

#[napi]
impl Nodes {
    #[napi(catch_unwind)]
    pub fn get(&self, path: String) -> f64 {
        self.0.ask(|it| async move { it.get(&path).await }, Content::from)
    }

    #[napi(catch_unwind)]
    pub fn set(&self, path: String, data: &[u8], version: Option<i32>) -> f64 {
        let data = data.to_vec();
        self.0.ask(|it| async move { it.set(&path, &data, version).await }, Stat::from)
    }

    #[napi(catch_unwind)]
    pub fn delete(&self, path: String, version: Option<i32>) -> f64 {
        self.0.ask(|it| async move { it.delete(&path, version).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn exists(&self, path: String) -> f64 {
        self.0.ask(|it| async move { it.exists(&path).await }, stat)
    }

    #[napi(catch_unwind)]
    pub fn children(&self, path: String) -> f64 {
        self.0.ask(|it| async move { it.children(&path).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn ephemerals(&self, path: String) -> f64 {
        self.0.ask(|it| async move { it.ephemerals(&path).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn ensure(&self, path: String) -> f64 {
        self.0.ask(|it| async move { it.ensure(&path).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn delete_all(&self, path: String) -> f64 {
        self.0.ask(|it| async move { it.delete_all(&path).await }, same)
    }
}
