/* What each face does once, in C. Everything that is said goes to standard error. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zkrecipes.h>

static char ca[4096], cert[4096], key[4096], wrong[128], user[128], url[256];

static char *file(char *path, const char *name) {
  sprintf(path, "%s/%s", getenv("ZKR_SECURE_DIR"), name);
  return path;
}

static char *text(char *into, const char *name) {
  char path[4096];
  FILE *opened = fopen(file(path, name), "r");
  if (!opened) abort();
  into[fread(into, 1, 4095, opened)] = 0;
  fclose(opened);
  return into;
}

static void good(const char *hosts, const zkr_options *options) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;
  if (zkr_client_connect(hosts, options, &client, &error) != ZKR_OK ||
      zkr_lock_new(client, "/secure/lock", NULL, &lock, &error) != ZKR_OK ||
      zkr_lock_acquire(lock, 10000, NULL, &error) != ZKR_OK || zkr_lock_verify(lock, &error) != ZKR_OK ||
      zkr_lock_release(lock, &error) != ZKR_OK || zkr_client_close(client, 10000, &error) != ZKR_OK) {
    fprintf(stderr, "%s: %s\n", hosts, zkr_error_message(error));
    exit(1);
  }
  zkr_lock_free(lock);
  zkr_client_free(client);
}

static void bad(zkr_status status, const char *word, const char *hosts, const zkr_options *options) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_status given = zkr_client_connect(hosts, options, &client, &error);
  fprintf(stderr, "%s\n", error ? zkr_error_message(error) : "not refused");
  if (given != status || !strstr(zkr_error_message(error), word)) exit(2);
  zkr_error_free(error);
}

/* What the owner holds can be neither deleted, nor queued for, nor asked for by whoever has no credentials.
 */
static void stranger(const char *hosts, const zkr_options *options) {
  zkr_options none = ZKR_OPTIONS_INIT;
  zkr_client *owner = NULL, *client = NULL;
  zkr_lock *lock = NULL, *theirs = NULL;
  zkr_held *held = NULL;
  bool asked;
  if (zkr_client_connect(hosts, options, &owner, NULL) || zkr_client_connect(hosts, &none, &client, NULL) ||
      zkr_lock_new(owner, "/owned/lock", NULL, &lock, NULL) ||
      zkr_lock_new(client, "/owned/lock", NULL, &theirs, NULL) || zkr_lock_acquire(lock, 10000, &held, NULL))
    exit(3);
  if (zkr_nodes_delete(client, zkr_held_node(held), -1, NULL) != ZKR_DENIED ||
      zkr_lock_acquire(theirs, 10000, NULL, NULL) != ZKR_DENIED ||
      zkr_lock_revoke(theirs, zkr_held_node(held), 0, &asked, NULL) != ZKR_DENIED ||
      zkr_lock_verify(lock, NULL) != ZKR_OK)
    exit(4);
  zkr_held_free(held);
  zkr_lock_free(theirs);
  zkr_lock_free(lock);
  zkr_client_free(client);
  zkr_client_free(owner);
}

int main(void) {
  const char *hosts = getenv("ZKR_SECURE_TLS_39"), *plain = getenv("ZKR_SECURE_PLAIN_39");
  const char *secret = getenv("ZKR_SECURE_SECRET");
  sprintf(user, "user:%s", secret);
  sprintf(wrong, "%s-wrong", secret);
  zkr_auth auth = {"digest", user, strlen(user)};

  zkr_options options = ZKR_OPTIONS_INIT;
  options.sasl_user = "me";
  options.sasl_password = secret;
  options.auth = &auth;
  options.auth_count = 1;
  /* Many servers are started at once, and a machine may be busy. */
  options.connect_timeout_ms = 60000;
  good(plain, &options);
  stranger(plain, &options);
  bad(ZKR_INVALID, "ZKRECIPES_FORBID_EMBEDDED", "embedded:", &options);
  options.tls = true;
  options.tls_ca = file(ca, "ca.pem");
  options.tls_cert = file(cert, "client.pem");
  options.tls_key = file(key, "client.key");
  good(hosts, &options);
  bad(ZKR_DENIED, "plain text", plain, &options);
  options.tls_ca = file(ca, "other.pem");
  bad(ZKR_DENIED, "tls.ca", hosts, &options);
  options.tls_ca = file(ca, "old-lists.pem");
  bad(ZKR_DENIED, "tls.allow_expired_crls", hosts, &options);
  options.tls_allow_expired_crls = true;
  good(hosts, &options);

  options.tls_ca = text(ca, "ca.pem");
  options.tls_cert = text(cert, "client.pem");
  options.tls_key = text(key, "client.key");
  good(hosts, &options);
  options.tls_verify_hostname = false;
  good(hosts, &options);
  options.tls_verify_hostname = true;
  /* As it looks when the first line was not copied. */
  options.tls_key = strchr(key, '\n') + 1;
  bad(ZKR_INVALID, "tls.key", hosts, &options);
  options.tls_key = key;
  options.tls_cert = NULL;
  bad(ZKR_INVALID, "tls.cert", hosts, &options);
  options.tls_key = NULL;
  bad(ZKR_DENIED, "tls.cert", hosts, &options);
  bad(ZKR_DENIED, "has expired", getenv("ZKR_SECURE_EXPIRED"), &options);
  bad(ZKR_DENIED, "self-signed", getenv("ZKR_SECURE_ALONE"), &options);
  bad(ZKR_DENIED, "for other hosts", getenv("ZKR_SECURE_ELSEWHERE"), &options);

  options.tls = false;
  options.tls_ca = NULL;
  bad(ZKR_INVALID, "allow_plaintext_auth", "zk.example.org", &options);
  options.auth_count = 0;
  bad(ZKR_INVALID, "allow_plaintext_auth", "zk.example.org", &options);
  sprintf(url, "me:%s@zk.example.org:2181", secret);
  bad(ZKR_INVALID, "has credentials", url, &options);
  bad(ZKR_INVALID, "SRV", "_zookeeper._tcp.example.org", &options);
  options.sasl_password = wrong;
  bad(ZKR_DENIED, "sasl", plain, &options);
  return 0;
}
