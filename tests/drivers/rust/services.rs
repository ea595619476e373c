//! The words of service discovery.

use std::collections::HashMap;
use std::sync::Mutex;

use zkrecipes::{Discovery, Error, Instance, PickBy, Registration, Service};

use super::following::Following;
use super::generated::Recipes;
use super::reading::{Answer, Handles, Key, Said, number};

#[derive(Default)]
pub struct Services {
    /// By client, and name and id.
    registrations: Mutex<HashMap<(Key, String), Registration>>,
    picked: Handles<Instance>,
}

impl Services {
    /// Whether this is a command for it; if so, its answer.
    pub async fn perform(
        &self,
        recipes: &Recipes,
        following: &Following,
        words: &[String],
    ) -> Option<Answer> {
        let arguments: Vec<&str> = words[2..].iter().map(String::as_str).collect();
        let key = (words[0].clone(), arguments.first().copied().unwrap_or_default().to_owned());
        let discovery = || recipes.discovery.of(&key);
        Some(match (words[1].as_str(), &arguments[..]) {
            ("register", [_, name, id, address, rest @ ..]) => {
                self.register(discovery(), &key, Service::new(*name, *address).id(*id), rest).await
            }
            ("update-service", [_, id, rest @ ..]) => match self.registration(&key, id) {
                Ok(registration) => match given(registration.service(), rest) {
                    Ok(service) => registration.update(service).await.map(Said::said),
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            },
            ("registered", [_, id]) => {
                self.registration(&key, id).map(|registration| registered(&registration.service()))
            }
            ("unregister", [_, id]) => match self.registration(&key, id) {
                Ok(registration) => registration.unregister().await.map(Said::said),
                Err(error) => Err(error),
            },
            ("instances", [_, name]) => match discovery() {
                Ok(discovery) => discovery.instances(name).await.map(|all| all.iter().map(shown).collect()),
                Err(error) => Err(error),
            },
            ("instance", [_, name, id]) => match discovery() {
                Ok(discovery) => discovery.instances(name).await.map(|all| details(&all, id)),
                Err(error) => Err(error),
            },
            ("pick", [_, name, by @ ..]) => match discovery() {
                Ok(discovery) => self.pick(&discovery, &key, name, by.first().copied()).await,
                Err(error) => Err(error),
            },
            ("picked-failed", [_]) => self.picked.of(&key).map(|instance| {
                instance.failed();
                vec![]
            }),
            ("watch-service", [_, named, service]) => {
                let discovery = recipes.discovery.of(&(words[0].clone(), (*named).to_owned()));
                discovery.map(|discovery| following.services.make(key, (discovery, (*service).to_owned())))
            }
            _ => return None,
        })
    }

    async fn register(
        &self,
        discovery: Result<Discovery, Error>,
        key: &Key,
        service: Service,
        rest: &[&str],
    ) -> Answer {
        let registration = discovery?.register(given(service, rest)?).await?;
        let id = registration.id().to_owned();
        self.registrations.lock().unwrap().insert((key.clone(), id), registration);
        Ok(vec![])
    }

    fn registration(&self, key: &Key, id: &str) -> Result<Registration, Error> {
        let found = self.registrations.lock().unwrap().get(&(key.clone(), id.to_owned())).cloned();
        found.ok_or_else(|| Error::invalid("id", "is registered by nobody here"))
    }

    async fn pick(&self, discovery: &Discovery, key: &Key, name: &str, by: Option<&str>) -> Answer {
        let by = by.map_or(Ok(PickBy::default()), str::parse)?;
        let picked = discovery.pick(name, by).await?;
        if let Some(instance) = &picked {
            self.picked.make(key.clone(), instance.clone());
        }
        Ok(vec![picked.map_or_else(|| "none".to_owned(), |instance| instance.id)])
    }
}

fn given(mut service: Service, words: &[&str]) -> Result<Service, Error> {
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("address", text) => service.address = text.to_owned(),
            ("port", port) => service.port = Some(number("port", port)?),
            ("ssl-port", port) => service.ssl_port = Some(number("ssl_port", port)?),
            ("type", word) => service.service_type = word.parse()?,
            ("payload", json) => service.payload = Some(json.to_owned()),
            ("uri", spec) => service.uri_spec = Some(spec.to_owned()),
            ("enabled", _) => service.enabled = true,
            ("disabled", _) => service.enabled = false,
            _ => return Err(Error::invalid("word", format!("{word} is none"))),
        }
    }
    Ok(service)
}

fn shown(one: &Instance) -> String {
    format!("{}={}:{}{}", one.id, one.address, port(one.port), if one.enabled { "" } else { "!" })
}

fn or_none(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

fn port(port: Option<u16>) -> String {
    or_none(port.map(|port| port.to_string()))
}

fn registered(one: &Service) -> Vec<String> {
    vec![
        format!("{}/{}", one.name, one.id),
        one.address.clone(),
        port(one.port),
        port(one.ssl_port),
        one.service_type.name().to_owned(),
        or_none(one.uri_spec.clone()),
        or_none(one.payload.clone()),
        if one.enabled { "enabled" } else { "disabled" }.to_owned(),
    ]
}

fn details(all: &[Instance], id: &str) -> Vec<String> {
    let Some(one) = all.iter().find(|one| one.id == id) else { return vec!["none".to_owned()] };
    vec![
        one.address.clone(),
        port(one.port),
        port(one.ssl_port),
        one.service_type.name().to_owned(),
        or_none(one.uri.clone()),
        or_none(one.payload.clone()),
    ]
}

impl Said for Vec<Instance> {
    fn said(self) -> Vec<String> {
        let all: Vec<_> = self.iter().map(shown).collect();
        vec![if all.is_empty() { "-".to_owned() } else { all.join(",") }]
    }
}
