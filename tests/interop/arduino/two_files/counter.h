#pragma once

class Counter {
 public:
  int next();

 private:
  int count_ = 0;
};
