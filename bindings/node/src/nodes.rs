//! Plain node operations and transactions. Data arrives as a `Uint8Array` and is copied at once: the caller may change it
//! while the request is under way.

use napi::Env;
use napi::bindgen_prelude::{BigInt, Buffer};
use napi_derive::napi;
use zkrecipes::{CreateMode, Error, Result};

use crate::event_loop::{Inbox, drop_quietly};
use crate::failure::throw;

#[napi(custom_finalize)]
pub struct Nodes {
    nodes: zkrecipes::Nodes,
    inbox: Inbox,
}

#[napi(custom_finalize)]
pub struct Transaction {
    transaction: zkrecipes::Transaction,
    inbox: Inbox,
}

drop_quietly!(Nodes, Transaction);

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

impl Nodes {
    pub fn new(nodes: zkrecipes::Nodes, inbox: Inbox) -> Nodes {
        Nodes { nodes, inbox }
    }
}

fn mode_of(mode: &str) -> Result<CreateMode> {
    mode.parse()
}

#[napi]
impl Nodes {
    #[napi(catch_unwind)]
    pub fn create(&self, env: &Env, path: String, data: &[u8], mode: String) -> napi::Result<f64> {
        let mode = mode_of(&mode).map_err(|error| throw(env, error))?;
        let (nodes, data) = (self.nodes.clone(), data.to_vec());
        Ok(self.inbox.run(async move { nodes.create(&path, &data, mode).await }, |path| path))
    }

    #[napi(catch_unwind)]
    pub fn get(&self, path: String) -> f64 {
        let nodes = self.nodes.clone();
        self.inbox.run(async move { nodes.get(&path).await }, |(data, stat)| Content {
            data: data.into(),
            stat: stat.into(),
        })
    }

    #[napi(catch_unwind)]
    pub fn set(&self, path: String, data: &[u8], version: Option<i32>) -> f64 {
        let (nodes, data) = (self.nodes.clone(), data.to_vec());
        self.inbox.run(async move { nodes.set(&path, &data, version).await }, Stat::from)
    }

    #[napi(catch_unwind)]
    pub fn delete(&self, path: String, version: Option<i32>) -> f64 {
        let nodes = self.nodes.clone();
        self.inbox.run(async move { nodes.delete(&path, version).await }, |()| ())
    }

    #[napi(catch_unwind)]
    pub fn exists(&self, path: String) -> f64 {
        let nodes = self.nodes.clone();
        self.inbox.run(async move { nodes.exists(&path).await }, |stat| stat.map(Stat::from))
    }

    #[napi(catch_unwind)]
    pub fn children(&self, path: String) -> f64 {
        let nodes = self.nodes.clone();
        self.inbox.run(async move { nodes.children(&path).await }, |names| names)
    }

    #[napi(catch_unwind)]
    pub fn ensure(&self, path: String) -> f64 {
        let nodes = self.nodes.clone();
        self.inbox.run(async move { nodes.ensure(&path).await }, |()| ())
    }

    #[napi(catch_unwind)]
    pub fn delete_all(&self, path: String) -> f64 {
        let nodes = self.nodes.clone();
        self.inbox.run(async move { nodes.delete_all(&path).await }, |()| ())
    }

    #[napi(catch_unwind)]
    pub fn transaction(&self) -> Transaction {
        Transaction::new(self.nodes.transaction(), self.inbox.clone())
    }
}

impl Transaction {
    pub fn new(transaction: zkrecipes::Transaction, inbox: Inbox) -> Transaction {
        Transaction { transaction, inbox }
    }
}

#[napi]
impl Transaction {
    #[napi(catch_unwind)]
    pub fn create(&self, env: &Env, path: String, data: &[u8], mode: String) -> napi::Result<()> {
        let added = mode_of(&mode).and_then(|mode| self.transaction.create(&path, data, mode));
        added.map_err(|error: Error| throw(env, error))
    }

    #[napi(catch_unwind)]
    pub fn set(&self, env: &Env, path: String, data: &[u8], version: Option<i32>) -> napi::Result<()> {
        self.transaction.set(&path, data, version).map_err(|error| throw(env, error))
    }

    #[napi(catch_unwind)]
    pub fn delete(&self, env: &Env, path: String, version: Option<i32>) -> napi::Result<()> {
        self.transaction.delete(&path, version).map_err(|error| throw(env, error))
    }

    #[napi(catch_unwind)]
    pub fn check(&self, env: &Env, path: String, version: Option<i32>) -> napi::Result<()> {
        self.transaction.check(&path, version).map_err(|error| throw(env, error))
    }

    #[napi(catch_unwind)]
    pub fn commit(&self) -> f64 {
        let transaction = self.transaction.clone();
        self.inbox.run(async move { transaction.commit().await }, |()| ())
    }
}
