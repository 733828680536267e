// Artifacts of other versions of the format (docs/artifact.md, "Versions"): a
// plan with fields that this runtime does not know is read, and run, without
// them. Numbers of other versions are in ArtifactTest.cpp.
#include "test/runtime/RunFixture.h"

#include "newer_generated.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace pascaline;
using namespace pascaline::testing;

namespace {

// The sections as they were, behind a plan of another length.
std::string withPlan(const std::string &bytes, const void *plan, size_t size) {
  using namespace artifact;
  Header header;
  memcpy(&header, bytes.data(), sizeof header);
  std::string result(sizeof header, '\0');
  for (int i = 0; i < kSectionCount; ++i) {
    Section &section = header.sections[i];
    std::string content =
        i == kPlan ? std::string(static_cast<const char *>(plan), size)
                   : bytes.substr(section.offset, section.bytes);
    uint64_t alignment = i == kWeights ? kWeightsAlignment : kSectionAlignment;
    result.resize((result.size() + alignment - 1) / alignment * alignment);
    section.offset = result.size();
    section.bytes = content.size();
    result += content;
  }
  header.fileBytes = result.size();
  memcpy(&result[0], &header, sizeof header);
  rehash(result);
  return result;
}

TEST_F(RunTest, AnArtifactWithNewFieldsRunsWithoutThem) {
  artifact::Header header;
  memcpy(&header, bytes.data(), sizeof header);
  newer::PlanT plan;
  newer::GetPlan(bytes.data() + header.sections[artifact::kPlan].offset)
      ->UnPackTo(&plan);
  ASSERT_EQ(plan.launches.size(), 2u);
  plan.later = {"what", "nobody", "knows"};
  plan.launches[0]->later = {"yet"};
  plan.kernels[0]->later = {"yet"};
  plan.inputs[1]->later = {"yet"};
  flatbuffers::FlatBufferBuilder builder;
  newer::FinishPlanBuffer(builder, newer::Plan::Pack(builder, &plan));
  bytes = withPlan(bytes, builder.GetBufferPointer(), builder.GetSize());
  ASSERT_NE(bytes.find("nobody"), std::string::npos);
  openAll();
  ASSERT_EQ(run(session), PASCALINE_OK) << pascaline_last_error();
  EXPECT_EQ(y[299], 304);
}

} // namespace
