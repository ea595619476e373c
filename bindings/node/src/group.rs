//! The group.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use zkrecipes::{GroupEvent, drive};

use crate::declared::Declared;
use crate::event_loop::{Inbox, drop_quietly};
use crate::feed::Feed;
use crate::names::{Named, named};
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Group(Remote<zkrecipes::Group>);

drop_quietly!(Group);

/// What happened; `node/lib` makes an object of it that has the fields of its type, and no others.
#[napi(object)]
pub struct Event {
    pub r#type: String,
    pub members: Option<Vec<Named>>,
    pub name: Option<String>,
    pub data: Option<Buffer>,
}

impl From<GroupEvent> for Event {
    fn from(event: GroupEvent) -> Event {
        let (kind, members, name, data) = match event {
            GroupEvent::Snapshot(members) => ("snapshot", Some(named(members)), None, None),
            GroupEvent::Joined { name, data } => ("joined", None, Some(name), Some(data.into())),
            GroupEvent::Left { name } => ("left", None, Some(name), None),
            GroupEvent::Changed { name, data } => ("changed", None, Some(name), Some(data.into())),
            _ => ("unknown", None, None, None),
        };
        Event { r#type: kind.to_owned(), members, name, data }
    }
}

impl Group {
    pub fn new(group: zkrecipes::Group, inbox: &Inbox) -> Group {
        Group(Remote::new(group, inbox))
    }
}

#[napi]
impl Group {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// The call's value is a `Declared`.
    #[napi(catch_unwind)]
    pub fn join(&self, name: String, data: &[u8]) -> f64 {
        self.0.ask(|group| drive::join(&group, &name, data), Declared::from)
    }

    #[napi(catch_unwind)]
    pub fn leave(&self) -> f64 {
        self.0.ask(|group| async move { group.leave().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn update(&self, data: &[u8]) -> f64 {
        let data = data.to_vec();
        self.0.ask(|group| async move { group.update(&data).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn members(&self) -> f64 {
        self.0.ask(|group| async move { group.members().await }, named)
    }

    #[napi(catch_unwind)]
    pub fn watch(&self) -> Feed {
        Feed::new(self.0.watch(), &self.0.inbox, Event::from)
    }
}
