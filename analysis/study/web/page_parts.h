// The sources of the interactive report as texts; the definitions are made at build time
// (embed.cmake).
#pragma once

namespace legacy::analysis {

extern const char* const kPageHtml;   // with @TITLE@, @STYLE@, @CHARTS@, @SCRIPT@ and @STUDY@ in it
extern const char* const kPageStyle;  // CSS
extern const char* const kPageCharts;  // Chart.js
extern const char* const kPageScript;  // ours

}  // namespace legacy::analysis
