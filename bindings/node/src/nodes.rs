//! Plain node operations and transactions. Data arrives as a `Uint8Array` and is copied at once: the caller may change it
//! while the request is under way.

use napi::Env;
use napi::bindgen_prelude::{BigInt, Buffer, Either, Either3, Null};
use napi_derive::napi;
use zkrecipes::{CreateMode, NodeState, PartResult, WatchKind};

use crate::commit::OnItsWay;
use crate::event_loop::drop_quietly;
use crate::failure::OrThrow;
use crate::feed::Feed;
use crate::generated::{NodeCache, Nodes, Transaction};
use crate::options::finite;
use crate::remote::same;

#[napi(object)]
pub struct Stat {
    pub czxid: BigInt,
    pub mzxid: BigInt,
    pub pzxid: BigInt,
    /// Milliseconds since 1970, for `Date`.
    pub ctime: f64,
    pub mtime: f64,
    pub version: i32,
    pub cversion: i32,
    pub aversion: i32,
    pub ephemeral_owner: BigInt,
    pub data_length: i32,
    pub num_children: i32,
}

impl From<zkrecipes::Stat> for Stat {
    fn from(stat: zkrecipes::Stat) -> Stat {
        Stat {
            czxid: stat.czxid.into(),
            mzxid: stat.mzxid.into(),
            pzxid: stat.pzxid.into(),
            ctime: stat.ctime as f64,
            mtime: stat.mtime as f64,
            version: stat.version,
            cversion: stat.cversion,
            aversion: stat.aversion,
            // Unsigned, as `sessionId` is, so that the two compare equal.
            ephemeral_owner: (stat.ephemeral_owner as u64).into(),
            data_length: stat.data_length,
            num_children: stat.num_children,
        }
    }
}

/// A node's content.
#[napi(object)]
pub struct Content {
    pub data: Buffer,
    pub stat: Stat,
}

impl From<(Vec<u8>, zkrecipes::Stat)> for Content {
    fn from((data, stat): (Vec<u8>, zkrecipes::Stat)) -> Content {
        Content { data: data.into(), stat: stat.into() }
    }
}

/// A node below the one that is watched, or that one.
#[napi(object)]
pub struct Found {
    pub path: String,
    pub data: Buffer,
    pub stat: Stat,
}

/// How what is watched stands: the field of its kind is set, and null if there is no such node.
#[napi(object, use_nullable = true)]
pub struct State {
    pub node: Option<Content>,
    pub children: Option<Vec<String>>,
    pub subtree: Option<Vec<Found>>,
}

impl From<NodeState> for State {
    fn from(state: NodeState) -> State {
        let mut found = State { node: None, children: None, subtree: None };
        match state {
            NodeState::Data(content) => found.node = content.map(Content::from),
            NodeState::Children(names) => found.children = names,
            NodeState::Subtree(all) => {
                let all = all.into_iter();
                let found_at = |(path, (data, stat)): (_, (Vec<u8>, zkrecipes::Stat))| Found {
                    path,
                    data: data.into(),
                    stat: stat.into(),
                };
                found.subtree = Some(all.map(found_at).collect());
            }
        }
        found
    }
}

#[napi]
impl Nodes {
    #[napi(catch_unwind)]
    pub fn create(&self, path: String, data: &[u8], mode: String, ttl: Option<f64>) -> f64 {
        let data = data.to_vec();
        self.0.ask(|nodes| async move { nodes.create(&path, &data, create_mode(&mode, ttl)?).await }, same)
    }

    /// The feed of the states of one kind.
    #[napi(catch_unwind)]
    pub fn watch(&self, env: &Env, path: String, kind: String) -> napi::Result<Feed> {
        let kind: WatchKind = kind.parse().or_throw(env)?;
        Ok(Feed::new(self.0.watch(&path, kind).or_throw(env)?, &self.0.inbox, State::from))
    }

    /// The call's value is a `KeptNodes`.
    #[napi(catch_unwind)]
    pub fn cache(&self, path: String) -> f64 {
        let inbox = self.0.inbox.clone();
        let cache = |nodes: zkrecipes::Nodes| async move { nodes.cache(&path).await };
        self.0.ask(cache, |made| KeptNodes(OnItsWay::new(made, inbox)))
    }

    #[napi(catch_unwind)]
    pub fn transaction(&self) -> Transaction {
        Transaction::new(self.0.transaction(), &self.0.inbox)
    }
}

#[napi]
impl Transaction {
    #[napi(catch_unwind)]
    pub fn create(
        &self,
        env: &Env,
        path: String,
        data: &[u8],
        mode: String,
        ttl: Option<f64>,
    ) -> napi::Result<()> {
        let mode = create_mode(&mode, ttl).or_throw(env)?;
        self.0.create(&path, data, mode).or_throw(env)
    }
}

/// A cache on its way to who asked for it.
#[napi(custom_finalize)]
pub struct KeptNodes(OnItsWay<zkrecipes::NodeCache>);

drop_quietly!(KeptNodes);

#[napi]
impl KeptNodes {
    /// The cache, once: it is the caller's from now on.
    #[napi(catch_unwind)]
    pub fn hand_over(&self) -> Option<NodeCache> {
        self.0.take().map(|made| NodeCache::new(made, &self.0.inbox))
    }

    /// The caller has withdrawn: it is not followed any more.
    #[napi(catch_unwind)]
    pub fn withdraw(&self) {
        drop(self.0.take());
    }
}

#[napi]
impl NodeCache {
    #[napi(catch_unwind)]
    pub fn get(&self, env: &Env, path: String) -> napi::Result<Either<Content, Null>> {
        let found = self.0.get(&path).or_throw(env)?;
        Ok(found.map_or(Either::B(Null), |found| Either::A(found.into())))
    }

    #[napi(catch_unwind)]
    pub fn children(&self, env: &Env, path: String) -> napi::Result<Either<Vec<String>, Null>> {
        let names = self.0.children(&path).or_throw(env)?;
        Ok(names.map_or(Either::B(Null), Either::A))
    }

    /// In milliseconds.
    #[napi(catch_unwind)]
    pub fn age(&self) -> f64 {
        self.0.age().as_secs_f64() * 1000.0
    }
}

/// What kind of node to create, and how many milliseconds it may stand unused.
fn create_mode(mode: &str, ttl: Option<f64>) -> zkrecipes::Result<CreateMode> {
    let mode: CreateMode = mode.parse()?;
    ttl.map_or(Ok(mode), |ttl| mode.with_ttl(finite("ttl", ttl)?))
}

pub fn stat(stat: Option<zkrecipes::Stat>) -> Option<Stat> {
    stat.map(Stat::from)
}

/// The path of what was created, the `Stat` of what was set, null for the other parts.
pub fn parts(results: Vec<PartResult>) -> Vec<Either3<String, Stat, Null>> {
    results.into_iter().map(part).collect()
}

fn part(result: PartResult) -> Either3<String, Stat, Null> {
    match result {
        PartResult::Created(path) => Either3::A(path),
        PartResult::Set(stat) => Either3::B(stat.into()),
        _ => Either3::C(Null),
    }
}
