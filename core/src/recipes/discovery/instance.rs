//! A service as it is registered, an instance as it is found, and the JSON between them, which is that of Curator's
//! `JsonInstanceSerializer`:
//!
//! ```text
//! {"name":"web","id":"…","address":"10.0.0.7","port":80,"sslPort":null,"payload":{"@class":"…"},
//!  "registrationTimeUTC":1700000000000,"serviceType":"DYNAMIC","uriSpec":{"parts":[{"value":"scheme","variable":true},…]}}
//! ```
//!
//! 1. `enabled` is written where it is false alone: readers of before Curator 2.10 refuse a field that they do not know, and the
//!    others take it for true where it is missing.
//! 2. A payload is passed on as the text that it is: of a Java object it has the `@class`, which only Java needs.
//! 3. What is missing is as with Curator's own reader: no port, no payload, DYNAMIC, enabled. Other fields are left alone.

use std::sync::{Arc, Weak};
use std::time::SystemTime;

use super::set_aside::{FoundNode, SetAside};
use super::uri::{UriPart, read_parts, uri_parts, uri_spec, write_parts};
use crate::error::{Error, Result};
use crate::json::{JsonValue, write_text};
use crate::path;
use crate::recipes::contenders::at;
use crate::session::random;
use crate::session::wire::Stat;

/// The last moment that every language has a date for: 9999-12-31T23:59:59Z, in milliseconds. Anybody may write a later one.
const LAST_MOMENT: i64 = 253_402_300_799_000;

/// How long the registration of a service lasts.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ServiceType {
    /// As long as the client that has registered it.
    #[default]
    Dynamic,
    /// Until it is unregistered.
    Static,
    /// Until it is unregistered; for services that are there for good.
    Permanent,
    /// As long as the client; the server appends a number of ten digits to the name of the node.
    DynamicSequential,
}

impl ServiceType {
    const ALL: [ServiceType; 4] =
        [ServiceType::Dynamic, ServiceType::Static, ServiceType::Permanent, ServiceType::DynamicSequential];

    fn of(word: &str) -> Option<ServiceType> {
        ServiceType::ALL.into_iter().find(|kind| kind.name().to_ascii_uppercase() == word)
    }
}

/// One instance of a service, to be registered: [`Discovery::register`](crate::Discovery::register).
///
/// ```
/// use zkrecipes::Service;
///
/// let mut service = Service::new("web", "10.0.0.7");
/// service.port = Some(8080);
/// service.payload = Some(r#"{"zone": "b"}"#.into());
/// service.uri_spec = Some("{scheme}://{address}:{port}/".into());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Service {
    /// Of which service it is an instance.
    pub name: String,
    /// What tells it from the other instances; a random one unless told.
    pub id: String,
    /// Where it is: a host name or an address.
    pub address: String,
    /// Its port, if it has one.
    pub port: Option<u16>,
    /// Its port for TLS, if it has one.
    pub ssl_port: Option<u16>,
    /// What else is to be known of it, as JSON.
    pub payload: Option<String>,
    /// How long its registration lasts.
    pub service_type: ServiceType,
    /// How its URI is made, such as `{scheme}://{address}:{port}`.
    pub uri_spec: Option<String>,
    /// Whether it is to be picked.
    pub enabled: bool,
}

impl Service {
    /// An instance of the service `name` at `address`, with a random id.
    pub fn new(name: impl Into<String>, address: impl Into<String>) -> Service {
        Service {
            name: name.into(),
            id: random::guid().to_string(),
            address: address.into(),
            port: None,
            ssl_port: None,
            payload: None,
            service_type: ServiceType::Dynamic,
            uri_spec: None,
            enabled: true,
        }
    }

    /// The same with another id.
    pub fn id(mut self, id: impl Into<String>) -> Service {
        self.id = id.into();
        self
    }

    /// The same with a port.
    pub fn port(mut self, port: u16) -> Service {
        self.port = Some(port);
        self
    }

    /// The same with a port for TLS.
    pub fn ssl_port(mut self, ssl_port: u16) -> Service {
        self.ssl_port = Some(ssl_port);
        self
    }

    /// The same with a payload, which is JSON.
    pub fn payload(mut self, payload: impl Into<String>) -> Service {
        self.payload = Some(payload.into());
        self
    }

    /// The same with another type.
    pub fn service_type(mut self, service_type: ServiceType) -> Service {
        self.service_type = service_type;
        self
    }

    /// The same with what its URI is made of.
    pub fn uri_spec(mut self, uri_spec: impl Into<String>) -> Service {
        self.uri_spec = Some(uri_spec.into());
        self
    }

    /// The same, to be picked or not.
    pub fn enabled(mut self, enabled: bool) -> Service {
        self.enabled = enabled;
        self
    }

    /// Its JSON, or Invalid.
    pub(super) fn encode(&self, registered: i64) -> Result<Vec<u8>> {
        check_name("name", &self.name)?;
        check_name("id", &self.id)?;
        if self.address.is_empty() {
            return Err(Error::invalid("address", "is empty; give a host name or an IP address"));
        }
        let payload = self.payload.as_deref().unwrap_or("null");
        let payload = JsonValue::parse(payload).map_err(|problem| {
            Error::invalid("payload", format!("is no JSON: {problem}; give one JSON value"))
        })?;
        let parts = self.uri_spec.as_deref().map(uri_parts).transpose()?;
        let mut json = String::from("{");
        let mut field = |name: &str, value: &dyn Fn(&mut String)| {
            if json.len() > 1 {
                json.push(',');
            }
            write_text(&mut json, name);
            json.push(':');
            value(&mut json);
        };
        let port = |port: Option<u16>| port.map_or("null".to_owned(), |port| port.to_string());
        field("name", &|to| write_text(to, &self.name));
        field("id", &|to| write_text(to, &self.id));
        field("address", &|to| write_text(to, &self.address));
        field("port", &|to| to.push_str(&port(self.port)));
        field("sslPort", &|to| to.push_str(&port(self.ssl_port)));
        field("payload", &|to| to.push_str(payload.raw()));
        field("registrationTimeUTC", &|to| to.push_str(&registered.to_string()));
        field("serviceType", &|to| write_text(to, &self.service_type.name().to_ascii_uppercase()));
        field("uriSpec", &|to| write_parts(to, parts.as_deref()));
        if !self.enabled {
            field("enabled", &|to| to.push_str("false"));
        }
        json.push('}');
        Ok(json.into_bytes())
    }
}

impl Service {
    /// What [`Service::encode`] has written.
    pub(super) fn decode(data: &[u8]) -> Option<Service> {
        let Instance { name, id, address, port, ssl_port, payload, service_type, uri_spec, enabled, .. } =
            Instance::read(FoundNode::new("", &Stat::default()), data, Weak::new())?;
        Some(Service { name, id, address, port, ssl_port, payload, service_type, uri_spec, enabled })
    }
}

fn check_name(argument: &str, name: &str) -> Result<()> {
    match path::problem_of_name(name) {
        Some(problem) => Err(Error::invalid(argument, format!("{name:?} is not one: it {problem}"))),
        None => Ok(()),
    }
}

/// One instance of a service, as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instance {
    /// Of which service it is an instance.
    pub name: String,
    /// What tells it from the other instances.
    pub id: String,
    /// Where it is; empty where it has not said so.
    pub address: String,
    /// Its port, if it has one.
    pub port: Option<u16>,
    /// Its port for TLS, if it has one.
    pub ssl_port: Option<u16>,
    /// What else it says of itself, as JSON.
    pub payload: Option<String>,
    /// How long its registration lasts.
    pub service_type: ServiceType,
    /// How its URI is made.
    pub uri_spec: Option<String>,
    /// Whether it is to be picked.
    pub enabled: bool,
    /// When it was registered, by the clock of who did that.
    pub registered_at: SystemTime,
    /// Its URI, where it has said how that is made.
    pub uri: Option<String>,
    origin: Origin,
}

/// Where and through which handle an instance was found; no difference between two of them.
#[derive(Clone)]
struct Origin {
    node: FoundNode,
    found_by: Weak<SetAside>,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

impl Eq for Origin {}

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("_")
    }
}

impl Instance {
    /// It did not serve: for 30 seconds the handle that has found it does not pick it, unless it is registered anew or updated.
    /// Asks no server, and tells nobody else.
    pub fn failed(&self) {
        if let Some(aside) = self.origin.found_by.upgrade() {
            aside.add_node(&self.origin.node);
        }
    }

    /// The path of its node, which it shares with no other instance: sequential ones may have one id.
    pub(crate) fn node(&self) -> &Arc<str> {
        &self.origin.node.path
    }

    /// The same node as it was found.
    pub(super) fn found_node(&self) -> &FoundNode {
        &self.origin.node
    }

    /// The same in one text: see [`drive::node_of`](crate::drive::node_of).
    pub(crate) fn node_as_text(&self) -> String {
        self.origin.node.to_text()
    }

    /// Whether it may be picked, as far as is known there.
    pub(super) fn is_spared(&self, aside: &SetAside) -> bool {
        aside.spares(&self.origin.node, &self.name, &self.id)
    }

    /// What a node says; `None` if that is no instance.
    pub(super) fn decode(node: FoundNode, data: &[u8], found_by: &Arc<SetAside>) -> Option<Instance> {
        Instance::read(node, data, Arc::downgrade(found_by))
    }

    pub(super) fn read(node: FoundNode, data: &[u8], found_by: Weak<SetAside>) -> Option<Instance> {
        let json = JsonValue::parse(std::str::from_utf8(data).ok()?).ok().filter(|json| json.is_object())?;
        let given = |name: &str| json.member(name).filter(|value| !value.is_null());
        let port = |name: &str| match given(name) {
            // What is no port may be a sign for none, such as -1 or 0x10000.
            Some(value) => Some(u16::try_from(value.integer()?).ok()),
            None => Some(None),
        };
        let text = |name: &str| match given(name) {
            Some(value) => value.text().map(Some),
            None => Some(None),
        };
        let registered = given("registrationTimeUTC").map_or(Some(0), |value| value.integer())?;
        let service_type =
            text("serviceType")?.map_or(Some(ServiceType::Dynamic), |word| ServiceType::of(&word))?;
        let parts = match given("uriSpec") {
            Some(spec) => read_parts(spec)?,
            None => None,
        };
        let mut instance = Instance {
            name: text("name")??,
            id: text("id")??,
            address: text("address")?.unwrap_or_default(),
            port: port("port")?,
            ssl_port: port("sslPort")?,
            payload: given("payload").map(|payload| payload.raw().to_owned()),
            service_type,
            uri_spec: parts.as_deref().map(uri_spec),
            enabled: given("enabled").map_or(Some(true), JsonValue::flag)?,
            registered_at: at(registered.clamp(0, LAST_MOMENT)),
            uri: None,
            origin: Origin { node, found_by },
        };
        instance.uri = parts.map(|parts| instance.build(&parts, registered));
        Some(instance)
    }

    /// As Curator's `UriSpec` does: a variable that there is not, or that is not known, is left out.
    fn build(&self, parts: &[UriPart], registered: i64) -> String {
        let port = |port: Option<u16>| port.map(|port| port.to_string()).unwrap_or_default();
        let value = |part: &UriPart| match &*part.value {
            _ if !part.is_variable => part.value.clone(),
            "scheme" => if self.ssl_port.is_some() { "https" } else { "http" }.to_owned(),
            "name" => self.name.clone(),
            "id" => self.id.clone(),
            "address" => self.address.clone(),
            "port" => port(self.port),
            "ssl-port" => port(self.ssl_port),
            "registration-time-utc" => registered.to_string(),
            "service-type" => self.service_type.name().to_owned(),
            "[" => "{".to_owned(),
            "]" => "}".to_owned(),
            _ => String::new(),
        };
        parts.iter().map(value).collect()
    }
}

/// Checks what names an instance.
pub(super) fn check(name: &str, id: &str) -> Result<()> {
    check_name("name", name)?;
    check_name("id", id)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::session::clock::{Clock, Later, Moment};
    use crate::session::system_clock::SystemClock;

    fn node(path: &str) -> FoundNode {
        FoundNode::new(path, &Stat { czxid: 1, mzxid: 2, ..Stat::default() })
    }

    fn decode(json: &str) -> Option<Instance> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        Instance::decode(node("/services/web/a"), json.as_bytes(), &SetAside::new(&clock))
    }

    #[test]
    fn a_service_is_written_as_curator_writes_it() {
        let mut service = Service::new("web", "10.0.0.7").id("a").port(80).uri_spec("{scheme}://{address}");
        let written = String::from_utf8(service.encode(7).unwrap()).unwrap();
        assert_eq!(
            written,
            concat!(
                r#"{"name":"web","id":"a","address":"10.0.0.7","port":80,"sslPort":null,"payload":null,"#,
                r#""registrationTimeUTC":7,"serviceType":"DYNAMIC","uriSpec":{"parts":[{"value":"scheme","variable":true},"#,
                r#"{"value":"://","variable":false},{"value":"address","variable":true}]}}"#
            )
        );
        service = service.enabled(false).payload(r#" {"@class" : "x.Y", "n": 10000000000000000000001} "#);
        let written = String::from_utf8(service.encode(7).unwrap()).unwrap();
        assert!(written.ends_with(r#","enabled":false}"#), "{written}");
        let instance = decode(&written).unwrap();
        assert_eq!(instance.payload.as_deref(), Some(r#"{"@class" : "x.Y", "n": 10000000000000000000001}"#));
        assert!(!instance.enabled);
    }

    #[test]
    fn what_is_missing_is_as_with_curators_reader() {
        let instance = decode(r#"{"name":"web","id":"a","what":[1,{"is":"this"}]}"#).unwrap();
        assert_eq!((&*instance.address, instance.port, instance.ssl_port), ("", None, None));
        assert_eq!((instance.payload, instance.uri), (None, None));
        assert_eq!((instance.service_type, instance.enabled), (ServiceType::Dynamic, true));
        assert_eq!(instance.registered_at, SystemTime::UNIX_EPOCH);
        for odd in [
            r#"{"name":"web","id":"a","port":70000,"sslPort":-1}"#,
            r#"{"name":"web","id":"a","uriSpec":{}}"#,
            r#"{"name":"web","id":"a","uriSpec":{"parts":null}}"#,
        ] {
            assert_eq!(decode(odd), decode(r#"{"name":"web","id":"a"}"#), "{odd}");
        }
        let spec = r#"{"name":"web","id":"a","uriSpec":{"parts":[null,{"value":"x"},{"value":null,"variable":null}]}}"#;
        assert_eq!(decode(spec).unwrap().uri.as_deref(), Some("x"));
    }

    #[test]
    fn a_time_that_nobody_has_a_date_for_is_the_last_one_that_all_have() {
        let registered = |ms: i64| {
            let json = format!(
                r#"{{"name":"web","id":"a","registrationTimeUTC":{ms},"uriSpec":{{"parts":[{{"value":"registration-time-utc","variable":true}}]}}}}"#
            );
            let instance = decode(&json).unwrap();
            assert_eq!(instance.uri, Some(ms.to_string()), "it is told as it was written");
            instance.registered_at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
        };
        for ms in [i64::MAX, 1_700_000_000_000_000_000, 253_402_300_800_000] {
            assert_eq!(registered(ms), 253_402_300_799);
        }
        assert_eq!(
            (registered(-1), registered(i64::MIN), registered(1_700_000_000_000)),
            (0, 0, 1_700_000_000)
        );
    }

    #[test]
    fn what_is_no_instance_is_none() {
        for bad in [
            "",
            "[]",
            "null",
            "{}",
            r#"{"name":"web"}"#,
            r#"{"name":"web","id":7}"#,
            r#"{"name":null,"id":"a"}"#,
            r#"{"name":"web","id":"a","port":"80"}"#,
            r#"{"name":"web","id":"a","serviceType":"ODD"}"#,
            r#"{"name":"web","id":"a","enabled":"yes"}"#,
            r#"{"name":"web","id":"a","uriSpec":{"parts":[1]}}"#,
            r#"{"name":"web","id":"a","uriSpec":"http:"}"#,
            r#"{"name":"web","id":"a"} x"#,
        ] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_uri_is_made_as_curator_makes_it() {
        let spec = "{ scheme }://{address}:{port}/{name}/{id}?{ssl-port}&{registration-time-utc}&{service-type}{nothing}{[}{]}{}";
        let service = Service::new("web", "h").id("a").port(1).ssl_port(2).uri_spec(spec);
        let instance = decode(std::str::from_utf8(&service.encode(9).unwrap()).unwrap()).unwrap();
        assert_eq!(instance.uri.as_deref(), Some("https://h:1/web/a?2&9&dynamic{}"));
        let again = spec.replace("{ scheme }", "{scheme}").replace("{]}{}", "{]}");
        assert_eq!(instance.uri_spec.as_deref(), Some(&*again));
        let plain = Service::new("web", "h").uri_spec("{scheme}:{port}").encode(9).unwrap();
        assert_eq!(decode(std::str::from_utf8(&plain).unwrap()).unwrap().uri.as_deref(), Some("http:"));
    }

    #[test]
    fn what_cannot_be_registered_is_invalid() {
        let good = || Service::new("web", "h");
        for (service, word) in [
            (Service::new("", "h"), "name"),
            (Service::new("a/b", "h"), "name"),
            (good().id("a/b"), "id"),
            (good().id(""), "id"),
            (Service::new("web", ""), "address"),
            (good().payload("{"), "payload"),
            (good().payload(""), "payload"),
            (good().uri_spec("{port"), "uri_spec"),
            (good().uri_spec("port}"), "uri_spec"),
            (good().uri_spec("{a{b}}"), "uri_spec"),
        ] {
            let error = service.encode(0).unwrap_err().to_string();
            assert!(error.starts_with(&format!("invalid {word}: ")), "{error}");
        }
    }

    /// Somebody sets it.
    #[derive(Default)]
    struct HandClock(AtomicU64);

    impl Clock for HandClock {
        fn now(&self) -> Moment {
            Moment(self.0.load(Ordering::Relaxed))
        }

        fn sleep_until(&self, at: Moment) -> Later<()> {
            SystemClock.sleep_until(at)
        }

        fn spawn(&self, task: Later<()>) {
            SystemClock.spawn(task);
        }

        fn alarm(&self, at: Moment, alarm: Box<dyn FnOnce() + Send>) {
            SystemClock.alarm(at, alarm);
        }
    }

    #[test]
    fn what_has_failed_is_picked_again_after_thirty_seconds() {
        let hands = Arc::new(HandClock::default());
        let clock: Arc<dyn Clock> = hands.clone();
        let aside = SetAside::new(&clock);
        let json = Service::new("web", "h").id("a").encode(0).unwrap();
        let found = |path: &str| Instance::decode(node(path), &json, &aside).unwrap();
        let instance = found("/services/web/a0000000001");
        let of_the_same_id = found("/services/web/a0000000002");
        let after = |seconds: u64| hands.0.store(seconds * 1_000_000_000, Ordering::Relaxed);
        instance.failed();
        after(29);
        assert!(!instance.is_spared(&aside) && of_the_same_id.is_spared(&aside));
        instance.failed();
        after(58);
        assert!(!instance.is_spared(&aside), "it has failed again");
        after(59);
        assert!(instance.is_spared(&aside));
        assert_eq!(aside.len(), 0, "what is over is not kept");
        aside.add("web", "a");
        assert!(!instance.is_spared(&aside) && !of_the_same_id.is_spared(&aside));
    }

    #[test]
    fn what_is_registered_anew_or_updated_has_not_failed() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let aside = SetAside::new(&clock);
        let json = Service::new("web", "h").id("a").encode(0).unwrap();
        let found = |czxid, mzxid| {
            let stat = Stat { czxid, mzxid, ..Stat::default() };
            Instance::decode(FoundNode::new("/services/web/a b", &stat), &json, &aside).unwrap()
        };
        found(1, 2).failed();
        assert!(
            !found(1, 2).is_spared(&aside) && found(1, 3).is_spared(&aside) && found(2, 2).is_spared(&aside)
        );
        // For a language that keeps no instance.
        let text = found(3, 4).node_as_text();
        aside.add_node(&FoundNode::of_text(&text).unwrap());
        assert!(!found(3, 4).is_spared(&aside) && FoundNode::of_text("/services/web/a").is_none());
    }

    #[test]
    fn what_has_failed_is_set_aside_for_who_has_found_it() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let (one, other) = (SetAside::new(&clock), SetAside::new(&clock));
        let json = Service::new("web", "h").encode(0).unwrap();
        let instance = Instance::decode(node("/services/web/a"), &json, &one).unwrap();
        instance.failed();
        assert!(!instance.is_spared(&one) && instance.is_spared(&other));
        drop(one);
        instance.failed();
    }
}
