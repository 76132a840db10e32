/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * This program is ns-3's own test runner, for builds without an ns-3 source tree. Use it with
 * --test-name=legacy-packet-engine.
 */
#include "ns3/test.h"

int main(int argc, char* argv[])
{
    return ns3::TestRunner::Run(argc, argv);
}
