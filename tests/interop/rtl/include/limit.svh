// From a folder of INCLUDES.
localparam int Limit = 100;
