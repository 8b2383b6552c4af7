#pragma once

// RapidJSON for the sources that use it; no other header of the product shows it.

#include <istream>  // before RapidJSON includes it: the attribute below cannot apply to it
#include <string>

// RapidJSON 1.1 adds to a null pointer before its stack's first growth: harmless, but it would
// drown the sanitizer's reports of our own code.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/pointer.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#if defined(__clang__)
#pragma clang attribute pop
#endif
