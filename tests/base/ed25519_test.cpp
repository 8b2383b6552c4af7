#include "base/ed25519.hpp"

#include "base/base64.hpp"
#include "base/sha256.hpp"

#include <gtest/gtest.h>

namespace tangram {
namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
  }
  return bytes;
}

std::string pem(const std::string& kind, const std::string& der) {
  return "-----BEGIN " + kind + "-----\n" + base64_encode(der) + "\n-----END " + kind + "-----\n";
}
// The headers of RFC 8410: an Ed25519 key's DER is one of these and its 32 bytes.
std::string private_pem(const std::string& seed) {
  return pem("PRIVATE KEY", from_hex("302e020100300506032b657004220420") + seed);
}
std::string public_pem(const std::string& key) {
  return pem("PUBLIC KEY", from_hex("302a300506032b6570032100") + key);
}

/// RFC 8032, 7.1.
struct Vector {
  std::string name;
  std::string seed;
  std::string key;
  std::string text;
  std::string signature;
};
void PrintTo(const Vector& vector, std::ostream* out) { *out << vector.name; }
class Rfc8032Test : public ::testing::TestWithParam<Vector> {};

TEST_P(Rfc8032Test, SignsAndVerifies) {
  const Vector& v = GetParam();
  const auto key = SigningKey::from_pem(private_pem(from_hex(v.seed)));
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->sign(from_hex(v.text)), from_hex(v.signature));
  const auto known = VerifyingKey::from_pem(public_pem(from_hex(v.key)));
  ASSERT_TRUE(known) << known.error().message;
  ASSERT_EQ(known->size(), 1U);
  EXPECT_EQ(known->front(), key->verifying_key());
  EXPECT_TRUE(known->front().verifies(from_hex(v.text), from_hex(v.signature)));
  EXPECT_FALSE(known->front().verifies(from_hex(v.text) + "x", from_hex(v.signature)));
}

INSTANTIATE_TEST_SUITE_P(
    Vectors, Rfc8032Test,
    ::testing::Values(
        Vector{"NoText", "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
               "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
               "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61"
               "e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
        Vector{"OneByte", "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
               "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
               "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458"
               "f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
        Vector{"TwoBytes", "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
               "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
               "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae6"
               "7f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
        Vector{"Sha512OfAbc", "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
               "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
               "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836b"
               "a3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
               "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdf"
               "bc7c66431e0303dca179c138ac17ad9bef1177331a704"}),
    [](const auto& row) { return row.param.name; });

TEST(Ed25519Test, AForeignGroupElementIsNoSignature) {
  // S + L verifies by the bare equation; RFC 8032 5.1.7 demands S < L, or one text has many
  // signatures.
  const auto key = SigningKey::from_pem(
      private_pem(from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")));
  std::string signature = key->sign("");
  const std::string order =
      from_hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  unsigned carry = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const unsigned sum = static_cast<unsigned char>(signature[32 + i]) +
                         static_cast<unsigned char>(order[i]) + carry;
    signature[32 + i] = static_cast<char>(sum);
    carry = sum >> 8U;
  }
  EXPECT_FALSE(key->verifying_key().verifies("", signature));
}

TEST(Ed25519Test, AMadeKeyIsReadAgain) {
  const SigningKey made = SigningKey::generate();
  const auto read = SigningKey::from_pem(made.to_pem());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->sign("text"), made.sign("text"));
  const auto known = VerifyingKey::from_pem(made.verifying_key().to_pem());
  ASSERT_TRUE(known);
  EXPECT_TRUE(known->front().verifies("text", made.sign("text")));
  EXPECT_FALSE(SigningKey::generate().verifying_key().verifies("text", made.sign("text")));
}

TEST(Ed25519Test, NoShorterOrLongerSignatureVerifies) {
  const SigningKey key = SigningKey::generate();
  const std::string signature = key.sign("text");
  EXPECT_FALSE(key.verifying_key().verifies("text", ""));
  EXPECT_FALSE(key.verifying_key().verifies("text", signature.substr(1)));
  EXPECT_FALSE(key.verifying_key().verifies("text", signature + '\0'));
}

TEST(Ed25519Test, TheIdIsWhatOpensslPrints) {
  const auto known = VerifyingKey::from_pem(
      public_pem(from_hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")));
  // openssl pkey -pubin -in FILE -outform DER | sha256sum
  EXPECT_EQ(known->front().id(), "06e3fd8f");
}

TEST(Ed25519Test, SeveralPublicKeysStandInOneText) {
  const auto one = SigningKey::generate().verifying_key();
  const auto other = SigningKey::generate().verifying_key();
  const auto read = VerifyingKey::from_pem("# 2026\n" + one.to_pem() + "\n# 2027\n" +
                                           other.to_pem() + "# the end\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (std::vector<VerifyingKey>{one, other}));
}

TEST(Ed25519Test, WhatIsNoKeyIsRefusedWithoutShowingIt) {
  const std::string secret = SigningKey::generate().to_pem();
  const std::string p256 =
      "-----BEGIN PUBLIC KEY-----\n"
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEdpW0AIVjSZEamC61tCvA0z7qqq8x\n"
      "DMWw6ll9YwwedOkDmTQDfIQloaFaM/eBkErUYqpBtYh+YtJDEPPLVPlJyg==\n"
      "-----END PUBLIC KEY-----\n";
  const auto why_not_public = [](const std::string& text) {
    const auto read = VerifyingKey::from_pem(text);
    return read ? "read" : read.error().message;
  };
  EXPECT_NE(why_not_public("").find("holds no public key"), std::string::npos);
  EXPECT_NE(why_not_public("hello").find("holds no public key"), std::string::npos);
  EXPECT_NE(why_not_public(p256).find("not Ed25519"), std::string::npos) << why_not_public(p256);
  EXPECT_NE(why_not_public(public_pem("short")).find("broken"), std::string::npos);
  EXPECT_NE(why_not_public(secret).find("a private key"), std::string::npos);

  const std::string body = secret.substr(28, 20);
  EXPECT_EQ(why_not_public(secret).find(body), std::string::npos);
  const auto broken = SigningKey::from_pem(secret.substr(0, 60));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().message.find(body), std::string::npos);
  EXPECT_NE(broken.error().message.find("tangram-extender grant-key"), std::string::npos);
  EXPECT_FALSE(SigningKey::from_pem(""));
  EXPECT_FALSE(SigningKey::from_pem(SigningKey::generate().verifying_key().to_pem()));
}

TEST(Ed25519Test, AKeyBehindAPasswordIsRefusedWithoutAsking) {
  EXPECT_FALSE(
      SigningKey::from_pem("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                           "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgWrznuEvd7pgICCAAw\n"
                           "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEKH1PCOZ8dl5PPt2LtS+06gEQHpP\n"
                           "ImovVib3+mAujxxif8lUlzBj8ujm9V42wnz9808N7UConKPxfqwtYPa3TKqLIdLr\n"
                           "D1h9rRKn655np112rDE=\n"
                           "-----END ENCRYPTED PRIVATE KEY-----\n"));
}

TEST(Sha256Test, OfAbc) {
  EXPECT_EQ(sha256("abc"),
            from_hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
}

}  // namespace
}  // namespace tangram
