//! A TCP proxy in front of `PostgreSQL` that writes down what a client asks for.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// The statements that went through, in order: simple queries, and executions of prepared ones by their text.
#[derive(Clone, Debug)]
pub struct Wiretap {
    pub address: SocketAddr,
    statements: Arc<Mutex<Vec<String>>>,
}

impl Wiretap {
    /// Listens on a free port and forwards to `server` (`host:port`).
    pub async fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let tap = Self { address: listener.local_addr().unwrap(), statements: Arc::default() };
        let statements = Arc::clone(&tap.statements);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let upstream = TcpStream::connect(&server).await.unwrap();
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = upstream.into_split();
                tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
                let statements = Arc::clone(&statements);
                tokio::spawn(async move {
                    let mut listener = Listener::default();
                    let mut chunk = vec![0; 65_536];
                    loop {
                        let read = from_client.read(&mut chunk).await.unwrap_or(0);
                        // Written down first: its answer may reach the test before this task runs again.
                        statements.lock().unwrap().extend(listener.hear(&chunk[..read]));
                        if read == 0 || to_server.write_all(&chunk[..read]).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        tap
    }

    /// A pool of one connection to the test's `PostgreSQL` database that goes through here, ready for use.
    pub async fn on(db: &super::TestDb) -> (Self, sea_orm::DatabaseConnection) {
        let (server, database) = db.url.rsplit_once('/').unwrap();
        let (user, address) = server.rsplit_once('@').unwrap();
        let tap = Self::start(address.to_owned()).await;
        let mut options = sea_orm::ConnectOptions::new(format!("{user}@{}/{database}", tap.address));
        options.max_connections(1).min_connections(1).sqlx_logging(false).test_before_acquire(false);
        let pool = sea_orm::Database::connect(options).await.unwrap();
        pool.ping().await.unwrap();
        tap.take();
        (tap, pool)
    }

    /// What was executed since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.statements.lock().unwrap())
    }
}

/// Understands the client's half of `PostgreSQL`'s protocol, version 3.
#[derive(Default)]
struct Listener {
    started: bool,
    bytes: Vec<u8>,
    prepared: HashMap<String, String>,
    bound: HashMap<String, String>,
}

impl Listener {
    fn hear(&mut self, chunk: &[u8]) -> Vec<String> {
        self.bytes.extend_from_slice(chunk);
        let mut executed = Vec::new();
        loop {
            let head = usize::from(self.started);
            if self.bytes.len() < head + 4 {
                return executed;
            }
            let length = u32::from_be_bytes(self.bytes[head..head + 4].try_into().unwrap()) as usize;
            if self.bytes.len() < head + length {
                return executed;
            }
            let message: Vec<u8> = self.bytes.drain(..head + length).collect();
            if !self.started {
                // Start-up and SSL requests have no kind; the start-up message says protocol 3.
                self.started = message[4..8] == [0, 3, 0, 0];
                continue;
            }
            let mut texts =
                message[5..].split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
            let mut text = || texts.next().unwrap_or_default();
            match message[0] {
                b'Q' => executed.push(text()),
                b'P' => {
                    let (name, sql) = (text(), text());
                    self.prepared.insert(name, sql);
                }
                b'B' => {
                    let (portal, statement) = (text(), text());
                    let sql = self.prepared.get(&statement).cloned().unwrap_or_default();
                    self.bound.insert(portal, sql);
                }
                b'E' => executed.push(self.bound.get(&text()).cloned().unwrap_or_default()),
                _ => {}
            }
        }
    }
}
