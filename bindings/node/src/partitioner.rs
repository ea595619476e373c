//! The partitioner: what it hands over, and what it answers by name.

use std::collections::BTreeMap;

use napi::Either;
use napi_derive::napi;
use zkrecipes::drive;

use crate::generated::Partitioner;
use crate::held::Held;

#[napi(object)]
pub struct Owner {
    pub name: String,
    pub value: Option<String>,
}

#[napi(object)]
pub struct Weight {
    pub name: String,
    pub value: u32,
}

pub fn owners(all: BTreeMap<String, Option<String>>) -> Vec<Owner> {
    all.into_iter().map(|(name, value)| Owner { name, value }).collect()
}

pub fn weights(all: BTreeMap<String, u32>) -> Vec<Weight> {
    all.into_iter().map(|(name, value)| Weight { name, value }).collect()
}

/// Names as they are, or how many.
pub fn partition_names(given: Either<u32, Vec<String>>) -> zkrecipes::Partitions {
    match given {
        Either::A(count) => (count as usize).into(),
        Either::B(names) => names.into(),
    }
}

#[napi]
impl Partitioner {
    /// The call's value is a `Held`.
    #[napi(catch_unwind)]
    pub fn next(&self, timeout: f64) -> f64 {
        let home = self.0.inbox.clone();
        let next = |partitioner, limit| drive::next_partition(&partitioner, limit);
        self.0.wait(timeout, next, move |granted| Held::new(granted, &home))
    }

    /// The work on a partition has failed.
    #[napi(catch_unwind)]
    pub fn failed(&self, held: &Held, error: String) {
        drive::partition_failed(&held.held, &error);
    }
}
