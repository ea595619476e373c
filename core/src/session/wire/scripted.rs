//! A wire for tests that say what is answered. What they leave out never is.

use std::future::{pending, ready};

use super::*;

pub(crate) trait Script: Send + Sync + 'static {
    fn link(&self) -> Link;
    fn sync(&self) -> Flight<()>;

    fn get_data(&self, _path: &str) -> Flight<(Vec<u8>, Stat)> {
        Box::pin(pending())
    }

    fn get_each(&self, _paths: &[String]) -> Flight<Vec<Read>> {
        Box::pin(pending())
    }

    fn children(&self, _path: &str) -> Flight<Vec<String>> {
        Box::pin(pending())
    }

    fn own_ephemerals(&self, _path: &str) -> Flight<Vec<String>> {
        Box::pin(pending())
    }

    fn watch_data(&self, _path: &str) -> Flight<(Vec<u8>, Stat, Watch)> {
        Box::pin(pending())
    }

    fn watch_children(&self, _path: &str) -> Flight<(Vec<String>, Stat, Watch)> {
        Box::pin(pending())
    }
}

pub(crate) struct Scripted<S>(pub(crate) S);

impl<S: Script> Wire for Scripted<S> {
    fn session_id(&self) -> u64 {
        1
    }
    fn session_timeout(&self) -> Duration {
        Duration::from_secs(10)
    }
    fn link(&self) -> Link {
        self.0.link()
    }
    fn link_changed(&self, _: Link) -> Later<()> {
        Box::pin(pending())
    }
    fn close(&self) -> Later<()> {
        Box::pin(ready(()))
    }
    fn create(&self, _: &str, _: &[u8], _: CreateMode, _: &AclChoice) -> Flight<Created> {
        Box::pin(pending())
    }
    fn delete_on(&self, _: Option<u64>, _: &str, _: Option<i32>) -> Flight<()> {
        Box::pin(pending())
    }
    fn exists(&self, _: &str) -> Flight<Option<Stat>> {
        Box::pin(pending())
    }
    fn get_data(&self, path: &str) -> Flight<(Vec<u8>, Stat)> {
        self.0.get_data(path)
    }
    fn get_each(&self, paths: &[String]) -> Flight<Vec<Read>> {
        self.0.get_each(paths)
    }
    fn set_data_on(&self, _: Option<u64>, _: &str, _: &[u8], _: Option<i32>) -> Flight<Stat> {
        Box::pin(pending())
    }
    fn children(&self, path: &str) -> Flight<Vec<String>> {
        self.0.children(path)
    }
    fn children_and_stat(&self, _: &str) -> Flight<(Vec<String>, Stat)> {
        Box::pin(pending())
    }
    fn own_ephemerals(&self, path: &str) -> Flight<Vec<String>> {
        self.0.own_ephemerals(path)
    }
    fn watch_exists(&self, _: &str) -> Flight<(Option<Stat>, Watch)> {
        Box::pin(pending())
    }
    fn watch_data(&self, path: &str) -> Flight<(Vec<u8>, Stat, Watch)> {
        self.0.watch_data(path)
    }
    fn watch_children(&self, path: &str) -> Flight<(Vec<String>, Stat, Watch)> {
        self.0.watch_children(path)
    }
    fn is_open_to_deletion(&self, _: &str) -> Flight<bool> {
        Box::pin(pending())
    }
    fn sync(&self, _: &str) -> Flight<()> {
        self.0.sync()
    }
    fn multi_on(&self, _: Option<u64>, _: &[Write], _: &AclChoice) -> Flight<Vec<Applied>> {
        Box::pin(pending())
    }
    fn create_chroot(&self, _: &AclChoice) -> Flight<()> {
        Box::pin(pending())
    }
}
