/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// legacy-packet simulates packets for another program, with ns-3 in a process of its own.
#include "packet-server.h"

#include "base/error.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

namespace
{

constexpr const char* kHelp =
    "Usage: legacy-packet\n"
    "       legacy-packet --version | --help\n"
    "\n"
    "Simulates packets with ns-3 for programs that have no ns-3 in them: legacy-scenario,\n"
    "legacy-replay, legacy-study, legacy-federated, and the Python package. They start it and "
    "speak\n"
    "to it over standard input and output, as docs/packet-program.md says; people need not.\n"
    "\n"
    "Free software under the GNU General Public License, version 2 only, as ns-3 is.\n";

int Serve()
{
    // Whoever started it decides when to stop, and closes its standard input.
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
    {
        std::signal(number, SIG_IGN);
    }
    // What ns-3 prints goes to standard error, so that frames alone are in the stream.
    const int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    {
        throw legacy::Error(std::string("standard output: ") + std::strerror(errno));
    }
    legacy::packet::PacketServer(STDIN_FILENO, out).Serve();
    return 0;
}

int Main(int argc, char** argv)
{
    if (argc == 1)
    {
        if (isatty(STDIN_FILENO) != 0)
        {
            std::fputs(kHelp, stdout);
            return 2;
        }
        return Serve();
    }
    if (argc == 2 && std::strcmp(argv[1], "--version") == 0)
    {
        std::puts("legacy-packet " LEGACY_VERSION " (ns-3 " LEGACY_NS3_VERSION ", GPL-2.0-only)");
        return 0;
    }
    if (argc == 2 && std::strcmp(argv[1], "--help") == 0)
    {
        std::fputs(kHelp, stdout);
        return 0;
    }
    throw legacy::Error("arguments", argv[1], "none, --version or --help");
}

} // namespace

int main(int argc, char** argv)
{
    try
    {
        return Main(argc, argv);
    }
    catch (const std::exception& error)
    {
        std::fprintf(stderr, "legacy-packet: %s\n", error.what());
        return 2;
    }
}
