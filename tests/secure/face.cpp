// What each face does once, in C++. Everything that is said goes to standard error.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <zkrecipes.hpp>

static std::string from(const char *variable) { return std::getenv(variable); }

static std::string file(const std::string &name) { return from("ZKR_SECURE_DIR") + "/" + name; }

static std::string text(const std::string &name) {
  std::ifstream opened(file(name));
  return {std::istreambuf_iterator<char>(opened), {}};
}

static void good(const std::string &hosts, const zkr::Options &options) {
  zkr::Client client(hosts, options);
  zkr::Lock lock = client.lock("/secure/lock");
  lock.lock();
  lock.verify();
  lock.unlock();
}

static void bad(zkr_status status, const std::string &word, const std::string &hosts,
                const zkr::Options &options) {
  try {
    zkr::Client client(hosts, options);
  } catch (const zkr::Error &error) {
    std::cerr << error.what() << '\n';
    if (error.code() == status && std::string(error.what()).find(word) != std::string::npos) return;
  }
  std::cerr << "not refused as it should be: " << word << '\n';
  std::exit(1);
}

template <typename Verb>
static void denied(const Verb &verb) {
  try {
    verb();
  } catch (const zkr::Denied &error) {
    std::cerr << error.what() << '\n';
    return;
  }
  std::cerr << "a stranger was let in\n";
  std::exit(1);
}

// What the owner holds can be neither deleted, nor queued for, nor asked for by whoever has no credentials.
static void stranger(const std::string &hosts, const zkr::Options &options) {
  zkr::Client owner(hosts, options), client(hosts);
  zkr::Lock lock = owner.lock("/owned/lock"), theirs = client.lock("/owned/lock");
  zkr::Held held = lock.acquire();
  denied([&] { client.nodes().remove(held.node()); });
  denied([&] { theirs.lock(); });
  denied([&] { theirs.revoke(held.node(), std::chrono::milliseconds(0)); });
  held.verify();
}

int main() {
  const std::string hosts = from("ZKR_SECURE_TLS_39"), plain = from("ZKR_SECURE_PLAIN_39");
  const std::string secret = from("ZKR_SECURE_SECRET");
  const zkr::Options::Tls files{file("ca.pem"), file("client.pem"), file("client.key")};
  const zkr::Options::Tls memory{text("ca.pem"), text("client.pem"), text("client.key"), false};

  zkr::Options options;
  options.tls = files;
  options.sasl = zkr::Options::Sasl{"me", secret};
  good(hosts, options);
  bad(ZKR_DENIED, "plain text", plain, options);
  options.tls = memory;
  options.auth = {{"digest", "user:" + secret}};
  good(hosts, options);
  options.tls->ca = file("other.pem");
  bad(ZKR_DENIED, "tls.ca", hosts, options);
  options.tls->ca = file("old-lists.pem");
  bad(ZKR_DENIED, "tls.allow_expired_crls", hosts, options);
  options.tls->allow_expired_crls = true;
  good(hosts, options);
  // As it looks when the first line was not copied.
  options.tls->key = memory.key.substr(memory.key.find('\n') + 1);
  bad(ZKR_INVALID, "tls.key", hosts, options);
  options.tls = zkr::Options::Tls{file("ca.pem"), "", ""};
  bad(ZKR_DENIED, "tls.cert", hosts, options);
  bad(ZKR_DENIED, "has expired", from("ZKR_SECURE_EXPIRED"), options);
  bad(ZKR_DENIED, "self-signed", from("ZKR_SECURE_ALONE"), options);
  bad(ZKR_DENIED, "for other hosts", from("ZKR_SECURE_ELSEWHERE"), options);
  options.tls.reset();
  good(plain, options);
  stranger(plain, options);
  bad(ZKR_INVALID, "ZKRECIPES_FORBID_EMBEDDED", "embedded:", options);
  bad(ZKR_INVALID, "allow_plaintext_auth", "zk.example.org", options);
  options.auth.clear();
  bad(ZKR_INVALID, "allow_plaintext_auth", "zk.example.org", options);
  bad(ZKR_INVALID, "has credentials", "me:" + secret + "@zk.example.org:2181", options);
  bad(ZKR_INVALID, "SRV", "_zookeeper._tcp.example.org", options);
  options.sasl->password += "-wrong";
  bad(ZKR_DENIED, "sasl", plain, options);
  return 0;
}
