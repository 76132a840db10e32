// The sources of the interactive report are texts here. embed.cmake makes the definitions at build
// time.
#pragma once

namespace legacy::analysis {

// Template with @TITLE@, @STYLE@, @CHARTS@, @SCRIPT@ and @STUDY@.
extern const char* const kPageHtml;
extern const char* const kPageStyle;   // CSS
extern const char* const kPageCharts;  // Chart.js
extern const char* const kPageScript;  // scripts of the page

}  // namespace legacy::analysis
