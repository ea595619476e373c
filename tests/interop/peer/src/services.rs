//! Services: `register`, `unregister`, `instances`, `services` and `pick`.

use std::collections::HashMap;
use std::sync::Mutex;

use zkrecipes::{Client, Discovery, Error, Instance, PickBy, Registration, Service};

use crate::{Answer, number};

/// Of one owner: its handles by path, and what it has registered by path, name and id.
#[derive(Default)]
pub(crate) struct Services {
    handles: Mutex<HashMap<String, Discovery>>,
    registered: Mutex<HashMap<[String; 3], Registration>>,
}

impl Services {
    pub(crate) async fn perform(&self, client: &Client, verb: &str, rest: &[&str]) -> Answer {
        let [kind, path, name, rest @ ..] = rest else {
            return Err(Error::invalid(verb, "KIND PATH NAME …"));
        };
        let discovery = self.handle(client, path)?;
        let key = |id: &str| [*path, *name, id].map(str::to_owned);
        match (verb, rest) {
            ("register", [id, address, port, payload]) => {
                let mut service = Service::new(*name, *address).id(*id).port(number(port)? as u16);
                service.service_type = kind.trim_start_matches("service:").parse()?;
                service.uri_spec = Some("{scheme}://{address}:{port}/{name}".to_owned());
                service.payload = match payload.strip_prefix("object:") {
                    // As Java writes it.
                    Some(zone) => Some(format!(r#"{{"@class":"CuratorServices$Payload","zone":"{zone}"}}"#)),
                    None if *payload == "-" => None,
                    None => Some(format!("\"{payload}\"")),
                };
                let registration = discovery.register(service).await?;
                self.registered.lock().unwrap().insert(key(id), registration);
                Ok(String::new())
            }
            ("unregister", [id]) => {
                let registration = self.registered.lock().unwrap().remove(&key(id));
                let registration = registration.ok_or_else(|| Error::invalid("id", "is not registered"))?;
                registration.unregister().await.map(|()| String::new())
            }
            ("instances", []) => {
                let all = discovery.instances(name).await?;
                Ok(all.iter().map(shown).collect::<Vec<_>>().join(" "))
            }
            ("services", []) => Ok(discovery.names().await?.join(" ")),
            ("pick", []) => {
                let picked = discovery.pick(name, PickBy::RoundRobin).await?;
                Ok(picked.map_or_else(|| "none".to_owned(), |one| one.id))
            }
            _ => Err(Error::invalid("verb", format!("{verb} is not one of services"))),
        }
    }

    fn handle(&self, client: &Client, path: &str) -> Result<Discovery, Error> {
        let mut handles = self.handles.lock().unwrap();
        if let Some(discovery) = handles.get(path) {
            return Ok(discovery.clone());
        }
        let discovery = client.discovery(path)?;
        handles.insert(path.to_owned(), discovery.clone());
        Ok(discovery)
    }
}

fn shown(one: &Instance) -> String {
    let port = one.port.map_or_else(|| "null".to_owned(), |port| port.to_string());
    let payload = match one.payload.as_deref() {
        None => "-".to_owned(),
        Some(json) => match json.split_once("\"zone\":\"") {
            Some((_, zone)) => format!("object:{}", zone.trim_end_matches(['"', '}'])),
            None => json.trim_matches('"').to_owned(),
        },
    };
    let enabled = if one.enabled { "on" } else { "off" };
    let uri = one.uri.as_deref().unwrap_or_default();
    [&*one.id, &*one.address, &*port, &*payload, one.service_type.name(), uri, enabled].join("|")
}
