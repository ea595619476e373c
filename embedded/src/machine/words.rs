//! The four letter words operators type into a plain connection.

use super::{ConnId, Kind, Machine};
use std::fmt::Write as _;

impl Machine {
    /// Answers a word and closes.
    pub fn word(&mut self, conn: ConnId, word: [u8; 4]) {
        let answer = match &word {
            b"ruok" => "imok".to_owned(),
            b"isro" => if self.config.read_only { "ro" } else { "rw" }.to_owned(),
            b"srvr" => self.srvr(false),
            b"stat" => self.srvr(true),
            b"mntr" => self.mntr(),
            b"cons" => self.clients() + "\n",
            b"dump" => self.dump(),
            b"envi" => {
                format!("Environment:\n{}.version={}\n", self.product().to_lowercase(), self.version())
            }
            // None of them counts time as ZooKeeper does.
            b"conf" if self.config.dialect.product.is_some() => "server_id=0\n".to_owned(),
            b"conf" => format!(
                "tickTime={}\nmaxClientCnxns=0\nminSessionTimeout={}\nmaxSessionTimeout={}\nserverId=0\n",
                self.config.tick.as_millis(),
                self.config.min_session_timeout.as_millis(),
                self.config.max_session_timeout.as_millis()
            ),
            b"wchp" => self.watch_list(|(path, conn)| (path.clone(), self.session_name(*conn))),
            b"wchc" => self.watch_list(|(path, conn)| (self.session_name(*conn), path.clone())),
            b"srst" => {
                (self.received, self.sent) = (0, 0);
                "Server stats reset.\n".to_owned()
            }
            b"crst" => {
                self.conns.values_mut().for_each(|c| (c.received, c.sent) = (0, 0));
                "Connection stats reset.\n".to_owned()
            }
            b"wchs" => {
                let (conns, paths) = self.watches.spread();
                format!("{conns} connections watching {paths} paths\nTotal watches:{}\n", self.watches.len())
            }
            _ => String::new(),
        };
        self.send(conn, Kind::Word, answer.into_bytes());
        self.close(conn);
    }

    fn product(&self) -> &str {
        self.config.dialect.product.as_ref().map_or("Zookeeper", |(name, _)| name)
    }

    fn version(&self) -> String {
        if let Some((_, version)) = &self.config.dialect.product {
            return format!("{version}-zkrecipes-embedded");
        }
        let (major, minor, patch) = self.config.profile.version;
        format!("{major}.{minor}.{patch}-zkrecipes-embedded, for development and tests")
    }

    fn session_name(&self, conn: ConnId) -> String {
        format!("0x{:x}", self.session_of(conn).unwrap_or(0))
    }

    /// Watches by heading, with what belongs to each below it.
    fn watch_list(&self, row: impl Fn(&(String, ConnId)) -> (String, String)) -> String {
        let mut rows: Vec<(String, String)> = self.watches.all().iter().map(row).collect();
        rows.sort_unstable();
        rows.dedup();
        let mut s = String::new();
        let mut last = "";
        for (heading, item) in &rows {
            if heading != last {
                let _ = writeln!(s, "{heading}");
                last = heading;
            }
            let _ = writeln!(s, "\t{item}");
        }
        s + "\n"
    }

    fn mode(&self) -> &'static str {
        match () {
            () if self.config.read_only => "read-only",
            () if self.is_follower() => "follower",
            () if self.journal.is_some() => "leader",
            () => "standalone",
        }
    }

    fn clients(&self) -> String {
        let mut s = String::new();
        for c in self.conns.values() {
            let _ = writeln!(
                s,
                " /{}[{}](queued=0,recved={},sent={},sid=0x{:x},to={})",
                c.peer,
                u8::from(c.session.is_some()),
                c.received,
                c.sent,
                c.session.unwrap_or(0),
                c.timeout.as_millis()
            );
        }
        s
    }

    fn srvr(&self, with_clients: bool) -> String {
        let mut s = format!("{} version: {}\n", self.product(), self.version());
        if self.config.read_only {
            s += "READ-ONLY mode; serving only read-only clients\n";
        }
        if with_clients {
            let _ = writeln!(s, "Clients:\n{}", self.clients());
        }
        let _ = write!(
            s,
            "Latency min/avg/max: 0/0.0/0\nReceived: {}\nSent: {}\nConnections: {}\nOutstanding: 0\nZxid: 0x{:x}\n\
             Mode: {}\nNode count: {}\n",
            self.received,
            self.sent,
            self.conns.len(),
            self.zxid,
            self.mode(),
            self.tree.len()
        );
        s
    }

    fn mntr(&self) -> String {
        let rows: [(&str, String); 11] = [
            ("version", self.version()),
            ("server_state", self.mode().to_owned()),
            ("packets_received", self.received.to_string()),
            ("packets_sent", self.sent.to_string()),
            ("num_alive_connections", self.conns.len().to_string()),
            ("outstanding_requests", "0".to_owned()),
            ("znode_count", self.tree.len().to_string()),
            ("watch_count", self.watches.len().to_string()),
            ("ephemerals_count", self.tree.ephemeral_count().to_string()),
            ("approximate_data_size", self.tree.data_size().to_string()),
            ("global_sessions", self.sessions.len().to_string()),
        ];
        rows.iter().fold(String::new(), |mut s, (key, value)| {
            let _ = writeln!(s, "zk_{key}\t{value}");
            s
        })
    }

    fn dump(&self) -> String {
        let mut s = String::from("SessionTracker dump:\n");
        let buckets: Vec<_> = self.sessions.buckets().collect();
        let _ = writeln!(s, "Session Sets ({})/({}):", buckets.len(), self.sessions.len());
        for (ms, ids) in buckets {
            let _ = writeln!(s, "{} expire at {ms} ms:", ids.len());
            for id in ids {
                let _ = writeln!(s, "\t0x{id:x}");
            }
        }
        let mut owners: Vec<_> = self.tree.owners().collect();
        owners.sort_unstable_by_key(|(id, _)| *id);
        let _ = writeln!(s, "ephemeral nodes dump:\nSessions with Ephemerals ({}):", owners.len());
        for (id, paths) in owners {
            let _ = writeln!(s, "0x{id:x}:");
            for path in paths {
                let _ = writeln!(s, "\t{path}");
            }
        }
        let _ = writeln!(s, "Connections dump:\nConnections Sets (1)/({}):", self.conns.len());
        for (conn, c) in &self.conns {
            let _ = writeln!(s, "\t{conn} /{} session 0x{:x}", c.peer, c.session.unwrap_or(0));
        }
        s
    }
}
