// ContractionLab - print the PTX of one contraction, for
// tools/scripts/search-order.py.
//
//   contraction-lab TILE KIND [rows|columns FIRST STEP SKEW LOAD_AFTER]
//
// TILE is an index into allTiles(); KIND is dense, denseK (both operands
// k-contiguous), packed, conv3x3, conv3x3split, conv1x1s2, stem (7x7 over 3
// channels), split or edge.

#include "test/compiler/ContractionCases.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace pascaline;
using namespace pascaline::test;

int main(int argc, char **argv) {
  if (argc < 3) {
    for (const Tile &tile : allTiles())
      std::printf("%s\n", tile.text().c_str());
    return 2;
  }
  auto context = makeContext();
  Tile tile = allTiles()[std::atoi(argv[1])];
  std::string kind = argv[2];
  if (argc > 7)
    tile.order = {!std::strcmp(argv[3], "rows"), std::atoi(argv[4]),
                  std::atoi(argv[5]), std::atoi(argv[6]), std::atoi(argv[7])};
  Contraction c;
  if (kind == "conv3x3") {
    c = convContraction(*context, {64, 56, 56, 128, 3, 1, 1, 1}, tile, 1);
  } else if (kind == "conv3x3split") {
    c = convContraction(*context, {128, 14, 14, 128, 3, 1, 1, 1}, tile, 8);
  } else if (kind == "conv1x1s2") {
    c = convContraction(*context, {64, 56, 56, 128, 1, 2, 0, 1}, tile, 1);
  } else if (kind == "stem") {
    c = convContraction(*context, {3, 224, 224, 64, 7, 2, 3, 1}, tile, 1);
  } else {
    bool edge = kind == "edge";
    c.batch = {1};
    c.m = edge ? 1000 : 1024;
    c.n = edge ? 196 : 1024;
    c.k = 512;
    c.tile = tile;
    c.slices = kind == "split" || edge ? 4 : 1;
    c.b = denseOperand(*context, c.n, c.k, kind == "denseK", c.n * c.k);
    c.a = kind == "dense" || kind == "denseK"
              ? denseOperand(*context, c.m, c.k, true, c.m * c.k)
              : packedOperand(*context, c.m, c.k, tile, {0});
  }
  CompiledContraction compiled = compileContraction(*context, c, true);
  for (const std::string &error : compiled.errors)
    std::fprintf(stderr, "%s\n", error.c_str());
  std::fputs(compiled.ptx.c_str(), stdout);
  return compiled.ptx.empty();
}
