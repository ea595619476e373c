//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::feed::Feed;
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct NodeCache(pub(crate) Remote<zkrecipes::NodeCache>);

drop_quietly!(NodeCache);

impl NodeCache {
    pub fn new(core: zkrecipes::NodeCache, inbox: &Inbox) -> NodeCache {
        NodeCache(Remote::new(core, inbox))
    }
}

#[napi]
impl NodeCache {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn changes(&self) -> Feed {
        Feed::new(self.0.changes(), &self.0.inbox, same)
    }
}
