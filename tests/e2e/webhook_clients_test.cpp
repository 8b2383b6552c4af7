// Client certificates of the webhook, with an API server that is configured as in docs/tls.md.

#include "base/file.hpp"
#include "http/client.hpp"
#include "tests/e2e/environment.hpp"
#include "tests/e2e/fixture.hpp"
#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/webhook.hpp"

namespace tangram::e2e {
namespace {

using ::testing::HasSubstr;

class WebhookClientsTest : public E2eTest {
 protected:
  WebhookClientsTest()
      : webhook_(cluster_, {.settings = {"webhook.client_ca=" + pki("ca.crt"),
                                         "webhook.client_names=e2e-apiserver"},
                            .files = {}}) {}

  static std::string pki(const std::string& file) { return environment().state / "pki" / file; }

  Webhook webhook_;
};

TEST_F(WebhookClientsTest, ReviewsOfTheApiServerPass) {
  const auto answer = kubectl({"create", "--dry-run=server", "-f", "-"},
                              "apiVersion: v1\nkind: Pod\nmetadata: {name: wrong, annotations: "
                              "{tangram.dev/gpu-fraction: \"2\"}}\nspec: {containers: [{name: "
                              "main, image: registry.example/t:1}]}\n");
  EXPECT_THAT(answer.text, HasSubstr("denied the request: pod wrong"));
}

TEST_F(WebhookClientsTest, OthersGet403BeforeTheirBody) {
  const auto ca = read_file((webhook_certificates() / "ca.crt").string()).value();
  for (const std::string name : {"", "admin"}) {  // the same authority's, of another name
    http::Client client({.ca = ca,
                         .server_name = "127.0.0.1",
                         .certificate = name.empty() ? "" : read_file(pki(name + ".crt")).value(),
                         .key = name.empty() ? "" : read_file(pki(name + ".key")).value()});
    ASSERT_TRUE(client.connect("127.0.0.1", static_cast<std::uint16_t>(webhook_.port())));
    ASSERT_TRUE(
        client.send("POST /admission/validate HTTP/1.1\r\nHost: h\r\n"
                    "Content-Length: 9999\r\n\r\n"));
    const auto refused = client.receive();
    ASSERT_TRUE(refused) << refused.error().message;
    EXPECT_EQ(refused->status, 403) << name;
    EXPECT_THAT(refused->body, HasSubstr("webhook.client_"));
  }
}

}  // namespace
}  // namespace tangram::e2e
