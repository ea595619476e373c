//! A service on its way to the core, an instance on its way back, and a registration on its way to who asked for it.

use std::time::UNIX_EPOCH;

use napi::Env;
use napi_derive::napi;
use zkrecipes::{Result, drive};

use crate::commit::OnItsWay;
use crate::event_loop::drop_quietly;
use crate::failure::OrThrow;
use crate::feed::Feed;
use crate::generated::{Discovery, Registration};

/// What `node/lib` has checked; a payload is JSON.
#[napi(object)]
pub struct Service {
    pub name: Option<String>,
    pub id: Option<String>,
    pub address: Option<String>,
    pub port: Option<u32>,
    pub ssl_port: Option<u32>,
    pub payload: Option<String>,
    pub r#type: Option<String>,
    pub uri_spec: Option<String>,
    pub enabled: Option<bool>,
}

impl Service {
    fn into_core(self) -> Result<zkrecipes::Service> {
        let mut made =
            zkrecipes::Service::new(self.name.unwrap_or_default(), self.address.unwrap_or_default());
        if let Some(id) = self.id {
            made.id = id;
        }
        if let Some(word) = self.r#type {
            made.service_type = word.parse()?;
        }
        // What is no port is not let through.
        made.port = self.port.and_then(|port| u16::try_from(port).ok());
        made.ssl_port = self.ssl_port.and_then(|port| u16::try_from(port).ok());
        (made.payload, made.uri_spec) = (self.payload, self.uri_spec);
        made.enabled = self.enabled.unwrap_or(true);
        Ok(made)
    }
}

impl From<zkrecipes::Service> for Service {
    fn from(one: zkrecipes::Service) -> Service {
        Service {
            name: Some(one.name),
            id: Some(one.id),
            address: Some(one.address),
            port: one.port.map(u32::from),
            ssl_port: one.ssl_port.map(u32::from),
            payload: one.payload,
            r#type: Some(one.service_type.name().to_owned()),
            uri_spec: one.uri_spec,
            enabled: Some(one.enabled),
        }
    }
}

#[napi(object, use_nullable = true)]
pub struct Instance {
    /// Which node it was found at, which `node/lib` keeps to itself.
    pub node: String,
    pub name: String,
    pub id: String,
    pub address: String,
    pub port: Option<u32>,
    pub ssl_port: Option<u32>,
    pub payload: Option<String>,
    pub r#type: String,
    pub uri_spec: Option<String>,
    pub enabled: bool,
    /// Milliseconds since 1970.
    pub registered_at: f64,
    pub uri: Option<String>,
}

impl From<zkrecipes::Instance> for Instance {
    fn from(one: zkrecipes::Instance) -> Instance {
        let registered = one.registered_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        Instance {
            node: drive::node_of(&one),
            name: one.name,
            id: one.id,
            address: one.address,
            port: one.port.map(u32::from),
            ssl_port: one.ssl_port.map(u32::from),
            payload: one.payload,
            r#type: one.service_type.name().to_owned(),
            uri_spec: one.uri_spec,
            enabled: one.enabled,
            registered_at: registered.as_millis() as f64,
            uri: one.uri,
        }
    }
}

pub fn instances(all: Vec<zkrecipes::Instance>) -> Vec<Instance> {
    all.into_iter().map(Instance::from).collect()
}

/// A registration on its way to who asked for it.
#[napi(custom_finalize)]
pub struct Registering(OnItsWay<drive::Registering>);

drop_quietly!(Registering);

#[napi]
impl Discovery {
    /// The call's value is a `Registering`.
    #[napi(catch_unwind)]
    pub fn register(&self, service: Service) -> f64 {
        let inbox = self.0.inbox.clone();
        let register = |discovery: zkrecipes::Discovery| async move {
            drive::register(&discovery, service.into_core()?).await
        };
        self.0.ask(register, |made| Registering(OnItsWay::new(made, inbox)))
    }

    /// The call's value is a list of the one that was picked, if one was.
    #[napi(catch_unwind)]
    pub fn pick(&self, name: String, by: Option<String>) -> f64 {
        let pick = |discovery: zkrecipes::Discovery| async move {
            let by = by.map(|by| by.parse()).transpose()?.unwrap_or_default();
            discovery.pick(&name, by).await.map(Vec::from_iter)
        };
        self.0.ask(pick, instances)
    }

    /// The instance of that node did not serve. Whatever others have written there, it is never refused.
    #[napi(catch_unwind)]
    pub fn node_failed(&self, node: String) {
        drive::node_failed(&self.0, &node);
    }

    /// The feed of the instances of a service.
    #[napi(catch_unwind)]
    pub fn watch(&self, env: &Env, name: String) -> napi::Result<Feed> {
        Ok(Feed::new(self.0.watch(&name).or_throw(env)?, &self.0.inbox, instances))
    }
}

#[napi]
impl Registration {
    /// Changes what `names` has.
    #[napi(catch_unwind)]
    pub fn update(&self, given: Service, names: Vec<String>) -> f64 {
        let update = |registration: zkrecipes::Registration| async move {
            drive::update(&registration, given.into_core()?, Some(names)).await
        };
        self.0.ask(update, |()| ())
    }
}

#[napi]
impl Registering {
    /// The registration, once: it is the caller's from now on.
    #[napi(catch_unwind)]
    pub fn hand_over(&self) -> Option<Registration> {
        self.0.take().map(|made| Registration::new(made.hand_over(), &self.0.inbox))
    }

    /// The caller has withdrawn: it is taken back.
    #[napi(catch_unwind)]
    pub fn withdraw(&self) {
        drop(self.0.take());
    }
}
