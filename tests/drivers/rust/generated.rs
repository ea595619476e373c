//! The words and options of scenarios that are described. Generated from api/ by api/generate; do not edit.

use std::time::Duration;

use zkrecipes::{
    Barrier, Client, ClientOptions, Config, Counter, CounterOptions, Discovery, DoubleBarrier,
    ElectionOptions, Error, Group, GroupOptions, Latch, LockOptions, Names, Partitioner, PartitionerOptions,
    QueueOptions,
};

use super::reading::{Answer, Handles, Key, Said, bytes, millis, number, optional, partitions, text};

/// The recipes whose words are described, by client and name.
#[derive(Default)]
pub struct Recipes {
    pub barrier: Handles<Barrier>,
    pub config: Handles<Config>,
    pub counter: Handles<Counter>,
    pub discovery: Handles<Discovery>,
    pub double_barrier: Handles<DoubleBarrier>,
    pub group: Handles<Group>,
    pub latch: Handles<Latch>,
    pub names: Handles<Names>,
    pub partitioner: Handles<Partitioner>,
}

impl Recipes {
    /// Whether this is a command for one of them; if so, its answer.
    pub async fn perform(&self, client: &Client, words: &[String]) -> Option<Answer> {
        match WORDS.contains(&words[1].as_str()) {
            true => Some(self.obey(client, words).await),
            false => None,
        }
    }

    async fn obey(&self, client: &Client, words: &[String]) -> Answer {
        let arguments: &[&str] = &words[2..].iter().map(String::as_str).collect::<Vec<_>>();
        let key = (words[0].clone(), text(arguments, 0)?.to_owned());
        Ok(match words[1].as_str() {
            "barrier" => self.barrier.make(key, client.barrier(text(arguments, 1)?)?),
            "barrier-create" => self.barrier.of(&key)?.create().await?.said(),
            "barrier-remove" => self.barrier.of(&key)?.remove().await?.said(),
            "barrier-up" => self.barrier.of(&key)?.is_up().await?.said(),
            "barrier-wait" => self.barrier.of(&key)?.wait(millis(arguments.get(1))).await?.said(),
            "config" => self.config.make(key, client.config(text(arguments, 1)?)?),
            "config-get" => self.config.of(&key)?.get().await?.said(),
            "config-set" => self
                .config
                .of(&key)?
                .set(
                    bytes(arguments, 1),
                    optional(arguments, 2).map(|version| number("version", version)).transpose()?,
                )
                .await?
                .said(),
            "config-create" => self.config.of(&key)?.create(bytes(arguments, 1)).await?.said(),
            "config-compare-and-set" => self
                .config
                .of(&key)?
                .compare_and_set(
                    bytes(arguments, 1),
                    optional(arguments, 2).map(|version| number("version", version)).transpose()?,
                )
                .await?
                .said(),
            "counter" => self.counter.make(
                key,
                client
                    .counter(text(arguments, 1)?, counter_options(arguments.get(2..).unwrap_or_default())?)?,
            ),
            "value" => self.counter.of(&key)?.get().await?.said(),
            "add" => self.counter.of(&key)?.add(number("number", text(arguments, 1)?)?).await?.said(),
            "set-value" => self.counter.of(&key)?.set(number("number", text(arguments, 1)?)?).await?.said(),
            "compare-and-set" => self
                .counter
                .of(&key)?
                .compare_and_set(
                    number("number", text(arguments, 1)?)?,
                    number("number", text(arguments, 2)?)?,
                )
                .await?
                .said(),
            "discovery" => self.discovery.make(key, client.discovery(text(arguments, 1)?)?),
            "services" => self.discovery.of(&key)?.names().await?.said(),
            "failed" => self.discovery.of(&key)?.failed(text(arguments, 1)?, text(arguments, 2)?)?.said(),
            "double-barrier" => self.double_barrier.make(
                key,
                client.double_barrier(
                    text(arguments, 1)?,
                    number("number", text(arguments, 2)?)?,
                    optional(arguments, 3),
                )?,
            ),
            "barrier-entered" => self.double_barrier.of(&key)?.has_entered().said(),
            "barrier-enter" => self.double_barrier.of(&key)?.enter(millis(arguments.get(1))).await?.said(),
            "barrier-leave" => self.double_barrier.of(&key)?.leave(millis(arguments.get(1))).await?.said(),
            "barrier-withdraw" => self.double_barrier.of(&key)?.withdraw()?.said(),
            "group" => self.group.make(
                key,
                client.group(text(arguments, 1)?, group_options(arguments.get(2..).unwrap_or_default())?)?,
            ),
            "join" => self.group.of(&key)?.join(text(arguments, 1)?, bytes(arguments, 2)).await?.said(),
            "leave" => self.group.of(&key)?.leave().await?.said(),
            "update" => self.group.of(&key)?.update(bytes(arguments, 1)).await?.said(),
            "members" => self.group.of(&key)?.members().await?.said(),
            "wait-for" => self
                .group
                .of(&key)?
                .wait_for(number("number", text(arguments, 1)?)?, millis(arguments.get(2)))
                .await?
                .said(),
            "latch" => self
                .latch
                .make(key, client.latch(text(arguments, 1)?, number("number", text(arguments, 2)?)?)?),
            "count-down" => {
                self.latch.of(&key)?.count_down(number("number", text(arguments, 1)?)?).await?.said()
            }
            "remaining" => self.latch.of(&key)?.remaining().await?.said(),
            "latch-reset" => self.latch.of(&key)?.reset(number("number", text(arguments, 1)?)?).await?.said(),
            "latch-wait" => self.latch.of(&key)?.wait(millis(arguments.get(1))).await?.said(),
            "names" => self.names.make(key, client.names(text(arguments, 1)?)?),
            "bind" => self
                .names
                .of(&key)?
                .bind(text(arguments, 1)?, bytes(arguments, 2), arguments.contains(&"ephemeral"))
                .await?
                .said(),
            "lookup" => self.names.of(&key)?.lookup(text(arguments, 1)?).await?.said(),
            "unbind" => self.names.of(&key)?.unbind(text(arguments, 1)?).await?.said(),
            "list" => self.names.of(&key)?.list().await?.said(),
            "partitioner" => self.partitioner.make(
                key,
                client.partitioner(
                    text(arguments, 1)?,
                    partitions(text(arguments, 2)?),
                    partitioner_options(arguments.get(3..).unwrap_or_default())?,
                )?,
            ),
            "leave-partitions" => self.partitioner.of(&key)?.leave().await?.said(),
            "owners" => self.partitioner.of(&key)?.owners().await?.said(),
            "partition-members" => self.partitioner.of(&key)?.members().await?.said(),

            word => return Err(Error::invalid("word", format!("{word} is none"))),
        })
    }

    pub fn forget(&self, key: &Key) {
        self.barrier.forget(key);
        self.config.forget(key);
        self.counter.forget(key);
        self.discovery.forget(key);
        self.double_barrier.forget(key);
        self.group.forget(key);
        self.latch.forget(key);
        self.names.forget(key);
        self.partitioner.forget(key);
    }
}

const WORDS: &[&str] = &[
    "barrier",
    "barrier-create",
    "barrier-remove",
    "barrier-up",
    "barrier-wait",
    "config",
    "config-get",
    "config-set",
    "config-create",
    "config-compare-and-set",
    "counter",
    "value",
    "add",
    "set-value",
    "compare-and-set",
    "discovery",
    "services",
    "failed",
    "double-barrier",
    "barrier-entered",
    "barrier-enter",
    "barrier-leave",
    "barrier-withdraw",
    "group",
    "join",
    "leave",
    "update",
    "members",
    "wait-for",
    "latch",
    "count-down",
    "remaining",
    "latch-reset",
    "latch-wait",
    "names",
    "bind",
    "lookup",
    "unbind",
    "list",
    "partitioner",
    "leave-partitions",
    "owners",
    "partition-members",
];

pub fn client_options(words: &[&str]) -> Result<ClientOptions, Error> {
    let mut options = ClientOptions::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "session_timeout" => options.session_timeout = number(name, value).map(Duration::from_millis)?,
            "connect_timeout" => options.connect_timeout = number(name, value).map(Duration::from_millis)?,
            "identity" => options.identity = Some(value.to_owned()),
            "allow_plaintext_auth" => options.allow_plaintext_auth = true,
            "refuse_open_parents" => options.refuse_open_parents = true,
            "naming" => options.naming = value.parse()?,
            "lease" => options.lease = value.parse()?,
            "read_only" => options.read_only = true,
            "server_tick" => options.server_tick = Some(number(name, value).map(Duration::from_millis)?),
            "max_in_flight" => options.max_in_flight = number(name, value)?,

            _ => return Err(Error::invalid(name, "is no option")),
        }
    }
    Ok(options)
}

pub fn counter_options(words: &[&str]) -> Result<CounterOptions, Error> {
    let mut options = CounterOptions::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "layout" => options.layout = value.parse()?,

            _ => return Err(Error::invalid(name, "is no option")),
        }
    }
    Ok(options)
}

pub fn election_options(words: &[&str]) -> Result<ElectionOptions, Error> {
    let mut options = ElectionOptions::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "layout" => options.layout = value.parse()?,
            "priority" => options.priority = number(name, value)?,
            "drain" => options.drain = number(name, value).map(Duration::from_millis)?,

            _ => return Err(Error::invalid(name, "is no option")),
        }
    }
    Ok(options)
}

pub fn group_options(words: &[&str]) -> Result<GroupOptions, Error> {
    let mut options = GroupOptions::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "layout" => options.layout = Some(value.parse()?),
            "replace" => options.replace = true,

            _ => return Err(Error::invalid(name, "is no option")),
        }
    }
    Ok(options)
}

pub fn lock_options(words: &[&str]) -> Result<LockOptions, Error> {
    let mut options = LockOptions::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "reentrant" => options.reentrant = true,
            "local_handoff" => options.local_handoff = number(name, value)?,

            _ => return Err(Error::invalid(name, "is no option")),
        }
    }
    Ok(options)
}

pub fn partitioner_options(words: &[&str]) -> Result<PartitionerOptions, Error> {
    let mut options = PartitionerOptions::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "weight" => options.weight = number(name, value)?,
            "name" => options.name = Some(value.to_owned()),
            "drain" => options.drain = number(name, value).map(Duration::from_millis)?,

            _ => return Err(Error::invalid(name, "is no option")),
        }
    }
    Ok(options)
}

pub fn queue_options(words: &[&str]) -> Result<QueueOptions, Error> {
    let mut options = QueueOptions::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "max_items" => options.max_items = Some(number(name, value)?),
            "ephemeral" => options.ephemeral = true,
            "shards" => options.shards = number(name, value)?,
            "max_attempts" => options.max_attempts = number(name, value)?,
            "layout" => options.layout = value.parse()?,
            "key_window" => options.key_window = number(name, value).map(Duration::from_millis)?,

            _ => return Err(Error::invalid(name, "is no option")),
        }
    }
    Ok(options)
}
