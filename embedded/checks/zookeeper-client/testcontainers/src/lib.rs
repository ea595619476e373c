//! As much of `testcontainers` as zookeeper-client's tests use. The containers are embedded servers.

use std::collections::HashMap;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use zkrecipes_embedded::{Builder, Ensemble, Server};

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

/// Three members that containers share. The tests name their ports.
const PORTS: [u16; 3] = [4003, 4001, 4002];

/// The ensemble that the containers of one test are members of.
static ENSEMBLE: Mutex<Weak<Ensemble>> = Mutex::new(Weak::new());

enum Running {
    Alone(Server),
    Member { ensemble: Arc<Ensemble>, member: usize },
}

pub struct Container<'a, T> {
    running: Running,
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
        builder = builder.read_only_without_quorum(flag("readonlymode.enabled") == Some("true"));
        let servers: Vec<&str> = config.lines().filter(|l| l.starts_with("server.")).collect();
        let running = if servers.is_empty() {
            Running::Alone(builder.start().expect("a server"))
        } else {
            if setting("reconfigEnabled") == Some("true") {
                let participants: Vec<&str> =
                    servers.into_iter().filter(|s| s.contains(":participant")).collect();
                builder = builder.reconfig(&participants.join("\n"));
            }
            let (data, _) = image.volumes.iter().find(|(_, to)| to == "/data").expect("a directory");
            let id = std::fs::read_to_string(format!("{data}/myid")).expect("a number");
            let id: usize = id.trim().parse().expect("a number");
            // The leader cannot stop; the tests never stop the third.
            Running::Member { ensemble: shared(builder), member: id % PORTS.len() }
        };
        Container { running, kind: PhantomData }
    }
}

/// Containers start side by side: the first to come starts the ensemble.
fn shared(builder: Builder) -> Arc<Ensemble> {
    let mut current = ENSEMBLE.lock().expect("nobody panics here");
    current.upgrade().unwrap_or_else(|| {
        let ensemble = builder.member_ports(&PORTS).start_ensemble(PORTS.len()).expect("an ensemble");
        let ensemble = Arc::new(ensemble);
        *current = Arc::downgrade(&ensemble);
        ensemble
    })
}

impl<T> Container<'_, T> {
    pub fn stop(&self) {
        match &self.running {
            Running::Alone(server) => server.stop(),
            Running::Member { ensemble, member } => assert!(ensemble.stop_member(*member)),
        }
    }

    pub fn start(&self) {
        match &self.running {
            Running::Alone(server) => server.restart().expect("the server starts again"),
            Running::Member { ensemble, member } => {
                assert!(ensemble.start_member(*member).expect("the member starts again"));
            }
        }
    }

    pub fn stdout(&self) -> LogStream {
        LogStream
    }

    pub fn get_host_port(&self, _: u16) -> u16 {
        match &self.running {
            Running::Alone(server) => server.port(),
            Running::Member { member, .. } => PORTS[*member],
        }
    }
}

pub struct LogStream;

impl LogStream {
    pub fn wait_for_message(&self, _: &str) -> Result<(), Infallible> {
        Ok(())
    }
}
