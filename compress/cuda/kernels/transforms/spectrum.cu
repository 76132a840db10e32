#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/transforms/inverse_kernels.h"
#include "compress/cuda/kernels/transforms/spectrum.h"
#include "compress/cuda/kernels/transforms/spectrum_kernels.h"

namespace legacy::cuda {

size_t SpectrumWorkspaceBytes(const SpectrumTable& table) {
  return Workspace::BytesFor(
      [&](Workspace& workspace) { LayOutSpectrum(table, {}, {}, workspace); });
}

void SelectSpectrum(const SpectrumTable& table, const Spectra& spectra,
                    const SpectrumArrays& arrays, void* workspace, size_t bytes, Stream stream) {
  Workspace scratch(workspace, bytes);
  const SpectrumJob job = LayOutSpectrum(table, spectra, arrays, scratch);
  scratch.CheckEnough();
  StreamDevice device(stream);
  LaunchSpectrum(device, table, job);
}

size_t InverseWorkspaceBytes(const SpectrumTable& table, int32_t workers) {
  return Workspace::BytesFor(
      [&](Workspace& workspace) { LayOutInverse(table, {}, {.workers = workers}, workspace); });
}

void InvertSpectra(const SpectrumTable& table, const Spectra& spectra, const InverseArrays& arrays,
                   void* workspace, size_t bytes, Stream stream) {
  Workspace scratch(workspace, bytes);
  const InverseJob job = LayOutInverse(table, spectra, arrays, scratch);
  scratch.CheckEnough();
  StreamDevice device(stream);
  LaunchInverse(device, table, job);
}

}  // namespace legacy::cuda
