//! Generated from api/ by api/generate; do not edit.

use napi::{Either, Env};
use napi_derive::napi;

use crate::client::Client;
use crate::election::Election;
use crate::failure::OrThrow;
use crate::generated::{
    Barrier, Config, Counter, CounterSettings, Discovery, ElectionSettings, Group, GroupSettings, Latch,
    Names, Partitioner, PartitionerSettings, QueueSettings, Semaphore,
};
use crate::partitioner::partition_names;
use crate::queue::{DelayQueue, PriorityQueue, Queue};

#[napi]
impl Client {
    #[napi(catch_unwind)]
    pub fn barrier(&self, env: &Env, path: String) -> napi::Result<Barrier> {
        let made = self.0.barrier(&path);
        Ok(Barrier::new(made.or_throw(env)?, &self.0.inbox))
    }

    #[napi(catch_unwind)]
    pub fn config(&self, env: &Env, path: String) -> napi::Result<Config> {
        let made = self.0.config(&path);
        Ok(Config::new(made.or_throw(env)?, &self.0.inbox))
    }

    #[napi(catch_unwind)]
    pub fn counter(&self, env: &Env, path: String, options: CounterSettings) -> napi::Result<Counter> {
        let made = options.into_core().and_then(|options| self.0.counter(&path, options));
        Ok(Counter::new(made.or_throw(env)?, &self.0.inbox))
    }

    #[napi(catch_unwind)]
    pub fn delay_queue(&self, env: &Env, path: String, options: QueueSettings) -> napi::Result<DelayQueue> {
        let made = options.into_core().and_then(|options| self.0.delay_queue(&path, options));
        Ok(DelayQueue::new(made.or_throw(env)?, &self.0.inbox))
    }

    #[napi(catch_unwind)]
    pub fn discovery(&self, env: &Env, path: String) -> napi::Result<Discovery> {
        let made = self.0.discovery(&path);
        Ok(Discovery::new(made.or_throw(env)?, &self.0.inbox))
    }

    #[napi(catch_unwind)]
    pub fn election(
        &self,
        env: &Env,
        path: String,
        data: &[u8],
        options: ElectionSettings,
    ) -> napi::Result<Election> {
        let made = options.into_core().and_then(|options| self.0.election(&path, data, options));
        Ok(Election::new(made.or_throw(env)?, &self.0.inbox))
    }

    #[napi(catch_unwind)]
    pub fn group(&self, env: &Env, path: String, options: GroupSettings) -> napi::Result<Group> {
        let made = options.into_core().and_then(|options| self.0.group(&path, options));
        Ok(Group::new(made.or_throw(env)?, &self.0.inbox))
    }

    #[napi(catch_unwind)]
    pub fn latch(&self, env: &Env, path: String, count: u32) -> napi::Result<Latch> {
        let made = self.0.latch(&path, count as usize);
        Ok(Latch::new(made.or_throw(env)?, &self.0.inbox))
    }

    #[napi(catch_unwind)]
    pub fn names(&self, env: &Env, path: String) -> napi::Result<Names> {
        let made = self.0.names(&path);
        Ok(Names::new(made.or_throw(env)?, &self.0.inbox))
    }

    #[napi(catch_unwind)]
    pub fn partitioner(
        &self,
        env: &Env,
        path: String,
        partitions: Either<u32, Vec<String>>,
        options: PartitionerSettings,
    ) -> napi::Result<Partitioner> {
        let made = options
            .into_core()
            .and_then(|options| self.0.partitioner(&path, partition_names(partitions), options));
        Ok(Partitioner::new(made.or_throw(env)?, &self.0.inbox))
    }

    #[napi(catch_unwind)]
    pub fn priority_queue(
        &self,
        env: &Env,
        path: String,
        options: QueueSettings,
    ) -> napi::Result<PriorityQueue> {
        let made = options.into_core().and_then(|options| self.0.priority_queue(&path, options));
        Ok(PriorityQueue::new(made.or_throw(env)?, &self.0.inbox))
    }

    #[napi(catch_unwind)]
    pub fn queue(&self, env: &Env, path: String, options: QueueSettings) -> napi::Result<Queue> {
        let made = options.into_core().and_then(|options| self.0.queue(&path, options));
        Ok(Queue::new(made.or_throw(env)?, &self.0.inbox))
    }

    #[napi(catch_unwind)]
    pub fn semaphore(&self, env: &Env, path: String, permits: u32) -> napi::Result<Semaphore> {
        let made = self.0.semaphore(&path, permits as usize);
        Ok(Semaphore::new(made.or_throw(env)?, &self.0.inbox))
    }
}
