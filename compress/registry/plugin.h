// A plugin defines a codec or a policy of the user's own in one file:
//
//   #include "compress/registry/plugin.h"
//
//   class Chunks : public legacy::Sparsifier { ... };
//
//   LEGACY_PLUGIN(tables) {
//     tables.Add(legacy::SparsifierRow{
//         .info = {.name = "chunks", .help = "the 64-element chunks of most energy"},
//         .make = [](const legacy::OptionReader&) { return std::make_unique<Chunks>(); }});
//   }
//
// `./waf plugin chunks.cc` compiles it to chunks.so, and --plugin=chunks.so loads that into
// legacy-scenario, legacy-codec, legacy-study and legacy-replay. docs/tutorials/ describes every
// step.
//
// A plugin is compiled against these headers, and runs only in programs of the same sources and
// compiler. The interface's name identifies both, and loading compares it.
#pragma once

#include "compress/registry/registry.h"
#include "legacy_plugin_interface.h"  // made by CMake: LEGACY_PLUGIN_INTERFACE

// Names of the exported symbols.
#define LEGACY_PLUGIN_INTERFACE_SYMBOL "legacy_plugin_interface"
#define LEGACY_PLUGIN_SYMBOL "legacy_plugin_add"

// Defines the exported symbols; the function's body follows.
#define LEGACY_PLUGIN(tables)                                                       \
  extern "C" [[gnu::visibility("default")]] const char* legacy_plugin_interface() { \
    return LEGACY_PLUGIN_INTERFACE;                                                 \
  }                                                                                 \
  extern "C" [[gnu::visibility("default")]] void legacy_plugin_add(                 \
      const ::legacy::MethodTables&(tables))
