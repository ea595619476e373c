//! As much of `testcontainers` as zookeeper-client's tests use. The containers are embedded servers.

use std::collections::HashMap;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::time::Duration;
use zkrecipes_embedded::Server;

pub mod clients {
    pub use crate::Cli;
}

pub mod core {
    pub use crate::{Container, Healthcheck, LogStream, RunnableImage, WaitFor};
}

pub mod images {
    pub mod generic {
        pub use crate::GenericImage;
    }
}

#[derive(Default)]
pub struct Cli;

#[derive(Default)]
pub struct Healthcheck;

impl Healthcheck {
    pub fn with_cmd<T>(self, _: impl IntoIterator<Item = T>) -> Self {
        self
    }

    pub fn with_interval(self, _: Duration) -> Self {
        self
    }

    pub fn with_retries(self, _: u32) -> Self {
        self
    }
}

pub enum WaitFor {
    Healthcheck,
}

#[derive(Default)]
pub struct GenericImage {
    tag: String,
    env: HashMap<String, String>,
    volumes: Vec<(String, String)>,
}

impl GenericImage {
    pub fn new(_: &str, tag: &str) -> Self {
        GenericImage { tag: tag.to_owned(), ..GenericImage::default() }
    }

    pub fn with_env_var(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    pub fn with_healthcheck(self, _: Healthcheck) -> Self {
        self
    }

    pub fn with_wait_for(self, _: WaitFor) -> Self {
        self
    }
}

pub struct RunnableImage<T> {
    image: GenericImage,
    kind: PhantomData<T>,
}

impl From<GenericImage> for RunnableImage<GenericImage> {
    fn from(image: GenericImage) -> Self {
        RunnableImage { image, kind: PhantomData }
    }
}

impl<T> RunnableImage<T> {
    pub fn with_volume(mut self, (from, to): (impl Into<String>, impl Into<String>)) -> Self {
        self.image.volumes.push((from.into(), to.into()));
        self
    }

    pub fn with_network(self, _: impl Into<String>) -> Self {
        self
    }
}

pub struct Container<'a, T> {
    server: Server,
    kind: PhantomData<&'a T>,
}

impl Cli {
    pub fn run<T>(&self, image: RunnableImage<T>) -> Container<'_, T> {
        let image = image.image;
        let config = image.volumes.iter().find(|(_, to)| to == "/conf/zoo.cfg");
        let config = config.map(|(file, _)| std::fs::read_to_string(file).expect("the configuration"));
        let config = config.unwrap_or_default();
        let setting = |name: &str| config.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix('='));
        let flags = image.env.get("SERVER_JVMFLAGS").cloned().unwrap_or_default();
        let flag = |name: &str| {
            flags.split(' ').find_map(|f| f.strip_prefix("-D")?.strip_prefix(name)?.strip_prefix('='))
        };

        let ms = |name: &str, default: u64| {
            Duration::from_millis(setting(name).and_then(|v| v.parse().ok()).unwrap_or(default))
        };
        let tick = ms("tickTime", 2000);
        let tick_ms = tick.as_millis() as u64;
        // Tests of servers older than any this one can be are among those that fail.
        let known = image.tag.starts_with("3.8") || image.tag.starts_with("3.9");
        let mut builder = Server::builder()
            .emulate(if known { &image.tag } else { "3.9.3" })
            .tick(tick)
            .min_session_timeout(ms("minSessionTimeout", 2 * tick_ms))
            .max_session_timeout(ms("maxSessionTimeout", 20 * tick_ms))
            .extended_types(flag("zookeeper.extendedTypesEnabled") == Some("true"));
        if let Some(digest) = flag("zookeeper.DigestAuthenticationProvider.superDigest") {
            builder = builder.super_digest(digest);
        }
        if let Some(interval) = flag("znode.container.checkIntervalMs") {
            builder = builder.reap_every(Duration::from_millis(interval.parse().expect("an interval")));
        }
        if let Some(scheme) = setting("enforce.auth.schemes") {
            builder = builder.require_auth(scheme);
        }
        Container { server: builder.start().expect("a server"), kind: PhantomData }
    }
}

impl<T> Container<'_, T> {
    pub fn stop(&self) {
        self.server.stop();
    }

    pub fn start(&self) {
        self.server.restart().expect("the server starts again");
    }

    pub fn stdout(&self) -> LogStream {
        LogStream
    }

    pub fn get_host_port(&self, _: u16) -> u16 {
        self.server.port()
    }
}

pub struct LogStream;

impl LogStream {
    pub fn wait_for_message(&self, _: &str) -> Result<(), Infallible> {
        Ok(())
    }
}
