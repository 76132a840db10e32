// A contact sheet shows the first images of a set, in rows, as a picture file.
#pragma once

#include <filesystem>

#include "trainer/data/images.h"

namespace legacy {

// Writes `columns` x `rows` images (as many as there are), one pixel apart, as PNG (.png) or as
// binary PGM or PPM (.pgm, .ppm; PGM of colour images takes the mean of the channels). Throws Error
// on another extension, or where the file cannot be written. The file appears whole or not at all.
void WriteContactSheet(const ImageSet& images, int columns, int rows,
                       const std::filesystem::path& file);

}  // namespace legacy
