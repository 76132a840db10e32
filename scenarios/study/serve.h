// The what-if server: the interactive report of a study at an address of this machine, where its
// what-if panel may ask what the study's trainings would take on another network (what_if.h).
// docs/studies.md has the API:
//
//   GET  /             the report, live
//   GET  /api/study    what the study is and how far it has come
//   GET  /api/groups   the trainings that questions may be about, with the defaults of a question
//   POST /api/what-if  a question as JSON -> its answer as JSON; 400 {"error": "..."} where it
//                      cannot be
//
// Nothing else: no file of the disk is served. Where it listens on this machine alone, requests
// whose Host (or Origin) is another name are refused, so that no web page that the user visits can
// ask through the browser (DNS rebinding).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/program.h"

namespace legacy {

struct ServeOptions {
  std::string bind =
      "127.0.0.1";  // address; others than this machine's own are open to everyone who reaches them
  int port = 8717;  // 0: any that is free
  int threads = 0;  // of an answer; 0: one per core, 2 at most
  double limit_seconds = 20;  // of an answer, and of waiting for one's turn
};

// Reads the study's folder, says on standard error what was read and the address, and serves until
// `stop` is set. Returns the program's exit status. Throws Error on what is no study, on a study
// without a training to ask, and on addresses that cannot be listened on.
int Serve(const std::filesystem::path& study, const ServeOptions& options, const StopFlag& stop);

// The server without its messages.
class StudyServer {
 public:
  // Reads the recordings and takes the port. Throws Error as Serve does.
  StudyServer(const std::filesystem::path& study, const ServeOptions& options);
  ~StudyServer();
  StudyServer(const StudyServer&) = delete;
  StudyServer& operator=(const StudyServer&) = delete;

  std::string Url() const;          // "http://127.0.0.1:8717/"
  std::string Description() const;  // how much was read
  void Run();                       // until Stop
  void Stop();                      // from any thread; stops an answer in work, too

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace legacy
