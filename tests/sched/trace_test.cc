// SPDX-License-Identifier: Apache-2.0
// Readers of traces: what they understand, and one clear error with file, line and value for everything else.
#include "rudder/sched/trace.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"

#include "sched/text_table.h"

namespace rudder::sched {
namespace {

using testing::HasSubstr;

class TraceFiles : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    const std::filesystem::path path = directory_.path() / "trace";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  Result<Trace> read(const std::string& text, TraceFormat format, TraceOptions options = {}) {
    return read_trace(write(text), format, options);
  }
  void refuses(const std::string& text, TraceFormat format, const std::string& message) {
    const auto trace = read(text, format);
    ASSERT_FALSE(trace.ok()) << text.substr(0, 200);
    EXPECT_EQ(trace.error().code, Errc::kInvalidData);
    EXPECT_THAT(trace.error().message, HasSubstr(message));
    EXPECT_THAT(trace.error().message, HasSubstr("/trace"));
    EXPECT_LT(trace.error().message.size(), 400U);
  }

  TemporaryDirectory directory_ = TemporaryDirectory::create("rudder-trace").value();
};

const std::string kPhillyHeader = "timestamp,duration,num_gpus,gpu_time,cluster\n";

TEST_F(TraceFiles, PhillyJobsComeInOrderFromTimeZero) {
  const auto trace =
      read(kPhillyHeader + "2017-10-09 07:01:55,66.0,1,66.0,b\r\n2017-10-09 06:01:55,100.5,12,9,a\n",
           TraceFormat::kPhilly);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->epoch, 1507528915) << "2017-10-09 06:01:55 UTC";
  EXPECT_EQ(trace->jobs[0].spec.name, "3") << "its line";
  EXPECT_EQ(trace->jobs[0].spec.submit, 0);
  EXPECT_EQ(trace->jobs[0].duration, 101) << "whole seconds, rounded up";
  EXPECT_EQ(trace->jobs[0].spec.nodes, 2) << "12 GPUs on hosts of 8";
  EXPECT_EQ(trace->jobs[0].spec.gpus, 6);
  EXPECT_EQ(trace->jobs[1].spec.submit, 3600);
  EXPECT_GE(trace->jobs[1].spec.limit, 66);
  EXPECT_EQ(trace->tenants, (std::vector<std::string>{"a", "b"}));
}

TEST_F(TraceFiles, PhillyRefusals) {
  refuses("", TraceFormat::kPhilly, "trace:1: no column 'timestamp'");
  refuses("a,b\n", TraceFormat::kPhilly, "trace:1: no column 'timestamp' in the header 'a,b'");
  refuses("timestamp,timestamp\n", TraceFormat::kPhilly, "repeated column 'timestamp'");
  refuses(kPhillyHeader + "2017-10-09 07:01:55,66.0,1,66.0\n", TraceFormat::kPhilly,
          "trace:2: 4 fields under a header of 5");
  refuses(kPhillyHeader + "\n2017-13-09 07:01:55,66.0,1,66.0,b\n", TraceFormat::kPhilly,
          "trace:3: timestamp is not a time: '2017-13-09 07:01:55'");
  refuses(kPhillyHeader + "2017-10-09 07:01:55,nan,1,66.0,b\n", TraceFormat::kPhilly,
          "trace:2: duration is not a number in 0..100000000000: 'nan'");
  refuses(kPhillyHeader + "2017-10-09 07:01:55,1e300,1,66.0,b\n", TraceFormat::kPhilly, "'1e300'");
  refuses(kPhillyHeader + "2017-10-09 07:01:55,5,1.5,66.0,b\n", TraceFormat::kPhilly,
          "trace:2: num_gpus is not a whole number in 0..1048576: '1.5'");
  refuses(kPhillyHeader + "2017-10-09 07:01:55,5,-1,66.0,b\n", TraceFormat::kPhilly, "'-1'");
  refuses(kPhillyHeader + std::string("2017-10-09 07:01:55,5,1,6,\0\n", 27), TraceFormat::kPhilly,
          "zero byte");
  refuses(kPhillyHeader + "2017-10-09 07:01:55,5,1,6,\x1b[31m" + std::string(5000, 'x') + "\n",
          TraceFormat::kPhilly, "longer than any job's");
  refuses(kPhillyHeader + "2017-10-09 07:01:55,5,1,6,\"b\n", TraceFormat::kPhilly, "quote that does not end");
}

TEST_F(TraceFiles, DaysThatNoCalendarHasAreRefused) {
  const auto dated = [](const std::string& date) { return kPhillyHeader + date + " 07:01:55,66,1,66,b\n"; };
  for (const char* date :
       {"2017-02-29", "2017-02-30", "2100-02-29", "2017-04-31", "2017-12-32", "2017-01-00"}) {
    refuses(dated(date), TraceFormat::kPhilly, std::string("trace:2: timestamp is not a time: '") + date);
  }
  for (const char* date : {"2016-02-29", "2000-02-29", "2017-12-31", "2017-04-30"}) {
    EXPECT_TRUE(read(dated(date), TraceFormat::kPhilly).ok()) << date;
  }
}

TEST_F(TraceFiles, TracesWithoutJobsAreErrors) {
  refuses(kPhillyHeader, TraceFormat::kPhilly, "trace: no jobs (0 records");
  refuses(kPhillyHeader + "2017-10-09 07:01:55,0,1,66.0,b\n2017-10-09 07:01:55,5,0,6,b\n",
          TraceFormat::kPhilly, "trace: no jobs (2 records");
  refuses("[]", TraceFormat::kPhillyJson, "trace: no jobs");
  refuses("job,submit,duration,nodes\n", TraceFormat::kCsv, "trace: no jobs");
}

TEST_F(TraceFiles, RepeatedJobsAreNamedWithBothLines) {
  refuses("job,submit,duration,nodes\na,0,1,1\nb,0,1,1\n\na,5,1,1\n", TraceFormat::kCsv,
          "trace:5: job 'a' occurs twice (first at ");
  refuses("job,submit,duration,nodes\na,0,1,1\nb,0,1,1\n\na,5,1,1\n", TraceFormat::kCsv, "trace:2)");
}

TEST_F(TraceFiles, NoFileIsSaidSo) {
  const auto trace = read_trace(directory_.path() / "absent", TraceFormat::kPhilly, {});
  ASSERT_FALSE(trace.ok());
  EXPECT_THAT(trace.error().message, HasSubstr("absent"));
}

TEST_F(TraceFiles, SacctKnowsStepsTresAndLimits) {
  const auto trace = read(
      "JobID|JobName|User|Partition|Submit|Start|ElapsedRaw|NNodes|AllocTRES|Timelimit|State\n"
      "12|a|ann|gpu|2024-03-01T10:00:00|2024-03-01T10:05:00|600|2|billing=8,cpu=64,gres/"
      "gpu=16,node=2|1-00:00:00|COMPLETED\n"
      "12.batch|a||gpu|2024-03-01T10:00:00|x|600|1|cpu=64,gres/gpu=8||COMPLETED\n"
      "13|cpu only|bob|cpu|2024-03-01T10:01:00|x|600|1|cpu=64|UNLIMITED|COMPLETED\n"
      "14|b|bob|gpu|2024-03-01T10:02:00|x|60|1|gres/gpu:h100=4|UNLIMITED|CANCELLED by 0\n",
      TraceFormat::kSacct, {.tenant_is_user = true});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->skipped, 1);
  EXPECT_EQ(trace->jobs[0].spec.nodes, 2);
  EXPECT_EQ(trace->jobs[0].spec.gpus, 8);
  EXPECT_EQ(trace->jobs[0].spec.limit, 86400);
  EXPECT_FALSE(trace->jobs[0].failed);
  EXPECT_EQ(trace->jobs[1].spec.gpu_type, "h100");
  EXPECT_EQ(trace->jobs[1].spec.submit, 120);
  EXPECT_TRUE(trace->jobs[1].failed);
  EXPECT_EQ(trace->tenants, (std::vector<std::string>{"ann", "bob"}));
}

TEST_F(TraceFiles, SacctRefusals) {
  const std::string header = "JobID|Submit|ElapsedRaw|NNodes|AllocTRES|TimelimitRaw\n";
  refuses("JobID|Submit|ElapsedRaw|NNodes\n", TraceFormat::kSacct, "no column 'AllocTRES'");
  refuses(header + "1|2024-03-01T10:00:00|60|1|gres/gpu=many|\n", TraceFormat::kSacct,
          "trace:2: AllocTRES does not parse: 'gres/gpu=many'");
  refuses(header + "1|Unknown|60|1|gres/gpu=1|\n", TraceFormat::kSacct, "Submit is not a time: 'Unknown'");
  refuses(header + "1|2024-03-01T10:00:00|60|1|gres/gpu=1|-5\n", TraceFormat::kSacct, "TimelimitRaw");
  refuses(header + "1|2024-03-01T10:00:00|60|1|gres/gpu=1|\n1|2024-03-01T10:00:00|60|1|gres/gpu=1|\n",
          TraceFormat::kSacct, "job '1' occurs twice");
}

TEST_F(TraceFiles, HeliosAndAcme) {
  const auto helios = read(
      "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
      "7,u1,vcA,16,64,2,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:10,2020-04-01 01:00:10,3600,10\n"
      "8,u1,vcA,0,64,2,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:10,2020-04-01 01:00:10,3600,10\n",
      TraceFormat::kHelios);
  ASSERT_TRUE(helios.ok()) << helios.error().message;
  ASSERT_EQ(helios->jobs.size(), 1U);
  EXPECT_EQ(helios->skipped, 1);
  EXPECT_EQ(helios->jobs[0].spec.queue, "vcA");
  EXPECT_EQ(helios->jobs[0].spec.nodes, 2);
  const auto acme = read(
      "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_"
      "time\n"
      "d,u,1,8.0,16,Evaluation,FAILED,2023-03-01 08:00:00+08:00,2023-03-01 08:00:01+08:00,x,59.5,1,1\n"
      "e,u,1,8,16,Pretrain,COMPLETED,2023-03-01 00:00:30+00:00,2023-03-01 08:00:01+08:00,x,60,1,1\n",
      TraceFormat::kAcme);
  ASSERT_TRUE(acme.ok()) << acme.error().message;
  ASSERT_EQ(acme->jobs.size(), 2U);
  EXPECT_EQ(acme->jobs[0].spec.queue, "Evaluation");
  EXPECT_EQ(acme->jobs[1].spec.submit, 30) << "the zones were read";
}

TEST_F(TraceFiles, PhillyJsonCountsGpusOfAttempts) {
  const auto trace = read(R"([
    {"status": "Pass", "vc": "v", "jobid": "j1", "submitted_time": "2017-10-09 07:00:00", "user": "u",
     "attempts": [{"start_time": "2017-10-09 07:01:00", "end_time": "2017-10-09 07:02:00",
                   "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0", "gpu1"]}]},
                  {"start_time": "2017-10-09 07:03:00", "end_time": "None", "detail": []}]},
    {"status": "Killed", "vc": "v", "jobid": "j2", "submitted_time": "2017-10-09 07:00:00", "user": "u", "attempts": []}
  ])",
                          TraceFormat::kPhillyJson);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 1U);
  EXPECT_EQ(trace->skipped, 1);
  EXPECT_EQ(trace->jobs[0].spec.nodes, 2);
  EXPECT_EQ(trace->jobs[0].spec.gpus, 2);
  EXPECT_EQ(trace->jobs[0].duration, 60);
}

TEST_F(TraceFiles, PhillyJsonRefusals) {
  refuses("[\n{\"status\": }]", TraceFormat::kPhillyJson, "trace:2: not JSON");
  refuses("{}", TraceFormat::kPhillyJson, "not an array");
  refuses("[3]", TraceFormat::kPhillyJson, "record 0: not an object: '3'");
  refuses(R"([{"jobid": 5}])", TraceFormat::kPhillyJson, "record 0: no text under 'jobid'");
  refuses(R"([{"jobid": "a", "vc": "v", "user": "u"}])", TraceFormat::kPhillyJson, "no array 'attempts'");
  refuses(R"([{"jobid": "a", "vc": "v", "user": "u", "attempts": [{"start_time": "soon"}]}])",
          TraceFormat::kPhillyJson, "'start_time' is not a time: '\"soon\"'");
  refuses(std::string(100'000, '['), TraceFormat::kPhillyJson, "trace");
  refuses(std::string(100, '[') + std::string(100, ']'), TraceFormat::kPhillyJson, "nested deeper than 8");
}

TEST_F(TraceFiles, OwnFormatSaysEverything) {
  const auto trace = read(
      "job,submit,duration,nodes,gpus,limit,predicted,priority,user,queue,preemptible,arrival,rows,columns,"
      "alpha\n"
      "LPJ,0,14400,4,8,14400,14400,0,u,q,0,3600,2,2,0.3\n"
      "\"J,1\",5,60,1,4,,,7,u,q,1,,,,\n",
      TraceFormat::kCsv);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const JobSpec& planned = trace->jobs[0].spec;
  EXPECT_EQ(planned.arrival, 3600);
  EXPECT_EQ(planned.grid.rows, 2);
  EXPECT_DOUBLE_EQ(planned.alpha, 0.3);
  EXPECT_EQ(trace->jobs[1].spec.name, "J,1");
  EXPECT_TRUE(trace->jobs[1].spec.preemptible);
  EXPECT_EQ(trace->jobs[1].spec.priority, 7);
  EXPECT_FALSE(trace->jobs[1].spec.planned());
  refuses("job,submit,duration,nodes,rows,columns\na,0,1,4,3,2\n", TraceFormat::kCsv,
          "4 nodes are no grid of 3 x '2'");
  refuses("job,submit,duration,nodes,arrival\na,10,1,4,5\n", TraceFormat::kCsv,
          "arrival before the submission: '5'");
  refuses("job,submit,duration,nodes\na,0,0,4\n", TraceFormat::kCsv, "duration is not a whole number");
  refuses("job,submit,duration,nodes,priority\na,0,1,4,999999\n", TraceFormat::kCsv, "priority");
}

TEST(Times, TimestampsAndSpans) {
  EXPECT_EQ(parse_timestamp("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(parse_timestamp("2000-02-29T12:00:00Z"), 951825600);
  EXPECT_EQ(parse_timestamp("2000-02-29T12:00:00.250+0130"), 951825600 - 5400);
  for (const char* text :
       {"", "2000-02-29", "2000-02-29 24:00:00", "2000-00-10 00:00:00", "2000-02-29 12:00:00+25:00",
        "2000-02-29 12:00:0x", "20000-02-29 12:00:00", "2000-02-29 12:00:00 and more"}) {
    EXPECT_FALSE(parse_timestamp(text)) << text;
  }
  EXPECT_EQ(parse_elapsed("1-02:03:04"), 93784);
  EXPECT_EQ(parse_elapsed("03:04.123"), 184);
  for (const char* text : {"", "7", "a:b", "1-2-3", "1:2:3:4", "99999999999-00:00:00"}) {
    EXPECT_FALSE(parse_elapsed(text)) << text;
  }
}

TEST(GeneratedLoad, FollowsItsTableAndItsSeed) {
  const LoadOptions load{.jobs = 20'000, .load = 0.6, .cluster_gpus = 512};
  const Trace trace = generate_load(load, {.seed = 3}).value();
  std::map<std::int64_t, double> share;
  double work = 0;
  for (const TraceJob& job : trace.jobs) {
    share[job.spec.all_gpus()] += 1.0 / load.jobs;
    work += static_cast<double>(job.duration) * static_cast<double>(job.spec.all_gpus());
    EXPECT_GE(job.spec.limit, job.duration);
  }
  EXPECT_NEAR(share[1], 0.70, 0.015);
  EXPECT_NEAR(share[8], 0.07, 0.008);
  EXPECT_NEAR(share[64], 0.003, 0.002);
  const auto span = static_cast<double>(trace.jobs.back().spec.submit);
  EXPECT_NEAR(work / span / 512, 0.6, 0.01);
  const Trace again = generate_load(load, {.seed = 3}).value();
  const Trace other = generate_load(load, {.seed = 4}).value();
  EXPECT_EQ(again.jobs[777].duration, trace.jobs[777].duration);
  EXPECT_NE(other.jobs[777].duration, trace.jobs[777].duration);
}

TEST(PlannedJobs, LieInOrderAndCarryTheirGrid) {
  Trace trace = generate_load({.jobs = 500}, {}).value();
  trace = with_planned_jobs(std::move(trace), {.count = 3, .nodes = 12, .columns = 4}, {}).value();
  EXPECT_EQ(trace.jobs.size(), 503U);
  int planned = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    EXPECT_EQ(trace.jobs[i].spec.id, static_cast<JobId>(i));
    if (trace.jobs[i].spec.planned()) {
      ++planned;
      EXPECT_EQ(trace.jobs[i].spec.grid.rows, 3);
      EXPECT_EQ(trace.jobs[i].spec.arrival - trace.jobs[i].spec.submit, 4 * 3600);
    }
  }
  EXPECT_EQ(planned, 3);
  EXPECT_FALSE(with_planned_jobs({}, {.count = 1, .nodes = 10, .columns = 4}, {}).ok());
}

}  // namespace
}  // namespace rudder::sched
