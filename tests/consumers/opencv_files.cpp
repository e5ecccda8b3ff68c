// run_files.py for the OpenCV that the system has: the same lines in and out.
#include <exception>
#include <fstream>
#include <iostream>
#include <opencv2/core.hpp>
#include <opencv2/dnn.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

cv::Mat read(const std::string& path, const std::string& shape, int type) {
  std::vector<int> sizes;
  for (const std::string& size : split(shape, 'x')) sizes.push_back(std::stoi(size));
  cv::Mat tensor(static_cast<int>(sizes.size()), sizes.data(), type);
  const auto bytes = static_cast<std::streamsize>(tensor.total() * tensor.elemSize());
  std::ifstream file(path, std::ios::binary);
  if (!file.read(tensor.ptr<char>(), bytes)) throw std::runtime_error(path + ": too short");
  return tensor;
}

void write(const std::string& path, const cv::Mat& values) {
  cv::Mat floats;
  values.convertTo(floats, CV_32F);
  std::ofstream file(path, std::ios::binary);
  file.write(floats.ptr<char>(), static_cast<std::streamsize>(floats.total() * floats.elemSize()));
  if (!file.flush()) throw std::runtime_error(path + ": not written");
}

/// model, output, type, then shape, input, output for each batch
void run(const std::vector<std::string>& job) {
  cv::dnn::Net net = cv::dnn::readNetFromONNX(job.at(0));
  const int type = job.at(2) == "uint8" ? CV_8U : CV_32F;
  for (std::size_t i = 3; i < job.size(); i += 3) {
    net.setInput(read(job.at(i + 1), job.at(i), type), "pixel_values");
    write(job.at(i + 2), net.forward(job.at(1)));
  }
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  return text.substr(0, 400);
}

}  // namespace

int main() {
  std::cout << "version " << CV_VERSION << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> job = split(line, '\t');
    const std::string name = job.front();
    job.erase(job.begin());
    std::cout << "start " << name << std::endl;
    try {
      run(job);
      std::cout << "done " << name << std::endl;
    } catch (const std::exception& e) {
      std::cout << "error " << name << ' ' << one_line(e.what()) << std::endl;
    }
  }
  return 0;
}
