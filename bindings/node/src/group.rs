//! What a group tells, and a membership on its way.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use zkrecipes::{GroupEvent, drive};

use crate::declared::Declared;
use crate::generated::Group;
use crate::names::{Named, named};

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

#[napi]
impl Group {
    /// The call's value is a `Declared`.
    #[napi(catch_unwind)]
    pub fn join(&self, name: String, data: &[u8]) -> f64 {
        self.0.ask(|group| drive::join(&group, &name, data), Declared::from)
    }
}
