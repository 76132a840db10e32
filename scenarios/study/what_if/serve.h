// The what-if server shows a study's interactive report at an address of this machine. The report's
// what-if panel asks for the times of the study's trainings on another network
// (scenarios/study/what_if/what_if.h). docs/what-if.md describes the API:
//
//   GET  /             the report, live
//   GET  /api/study    the study and its progress
//   GET  /api/groups   the trainings that questions may name, with the defaults of a question
//   POST /api/what-if  a question as JSON -> its answer as JSON; 400 {"error": "..."} where the
//                      question is wrong
//
// It serves nothing else, and no file of the disk. Where it listens on this machine alone, it
// refuses requests whose Host (or Origin) is another name, so that no web page that the user visits
// can ask through the browser (DNS rebinding).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/programs/program.h"

namespace legacy {

// ServeOptions configure the server.
struct ServeOptions {
  // Address to listen on; others than this machine's own are open to everyone who reaches them.
  std::string bind = "127.0.0.1";
  int port = 8717;            // 0: any port that is free
  int threads = 0;            // threads of an answer; 0: one per core, 2 at most
  double limit_seconds = 20;  // limit of an answer's time, and of the time that it waits
};

// Reads the study's folder, prints on standard error what was read and the address, and serves
// until `stop` is set. Returns the program's exit status. Throws Error where the folder has no
// study or the study no training to ask about, and on addresses on which it cannot listen.
int Serve(const std::filesystem::path& study, const ServeOptions& options, const StopFlag& stop);

// A StudyServer is the server without its messages.
class StudyServer {
 public:
  // Reads the recordings and takes the port. Throws Error as Serve does.
  StudyServer(const std::filesystem::path& study, const ServeOptions& options);
  ~StudyServer();
  StudyServer(const StudyServer&) = delete;
  StudyServer& operator=(const StudyServer&) = delete;

  // Returns "http://127.0.0.1:8717/".
  std::string Url() const;
  // Returns a text about the recordings that were read.
  std::string Description() const;
  // Serves until Stop.
  void Run();
  // Stops the server and any answer in progress. Any thread may call it.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace legacy
