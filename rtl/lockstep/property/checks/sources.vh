  // The headers and their readies: reads of node 0, node 1 and the DMA engine, then
  // writes of the DMA engine, the fences and the messages.
  wire [82:0] header0 = {cp0_Fetch_Kind, cp0_Fetch_Tag, cp0_Fetch_Len, cp0_Fetch_Addr};
  wire [82:0] header1 = {cp1_Fetch_Kind, cp1_Fetch_Tag, cp1_Fetch_Len, cp1_Fetch_Addr};
  wire [82:0] header2 = {dma_Read_Kind_2, dma_Read_Tag_2, dma_Read_Len_2, dma_Read_Addr_2};
  wire [82:0] header4 = {dma_Header_Kind_2, dma_Header_Tag_2, dma_Header_Len_2, dma_Header_Addr_2};
  wire [82:0] header5 = {fence0_Write_req_Kind_2, fence0_Write_req_Tag_2, fence0_Write_req_Len_2, cp0_Fence_Addr_2};
  wire [82:0] header6 = {fence1_Write_req_Kind_2, fence1_Write_req_Tag_2, fence1_Write_req_Len_2, cp1_Fence_Addr_2};
  wire [82:0] header7 = {intc_Message_req_Kind_2, intc_Message_req_Tag_2, intc_Message_req_Len_2, intc_Message_req_Addr_2};
  wire [7:0] ready = {intc_reqReady, fence1_reqReady, fence0_reqReady, dma_in_ReqReady, 1'b0,
    dma_in_ReadReady, cp1_mem_Ready, cp0_mem_Ready};
  wire [7:0] valid = {header7[82:80] != 0, header6[82:80] != 0, header5[82:80] != 0, header4[82:80] != 0, 1'b0,
    header2[82:80] != 0, header1[82:80] != 0, header0[82:80] != 0};
  wire [7:0] outward = valid & {header7[63], header6[63], header5[63], header4[63], 1'b0, header2[63], header1[63], header0[63]};

  // A header that was offered and not taken stays, unless its source was reset.
  reg [82:0] was0, was1, was2, was4, was5, was6, was7;
  reg [7:0] stays;
  always @(posedge clk) begin
    was0 <= header0;
    was1 <= header1;
    was2 <= header2;
    was4 <= header4;
    was5 <= header5;
    was6 <= header6;
    was7 <= header7;
    stays <= rst || initiator_rst_2 ? 8'd0 : valid & ~ready;
  end
  always @* begin
    assume (!stays[0] || header0 == was0);
    assume (!stays[1] || header1 == was1);
    assume (!stays[2] || header2 == was2);
    assume (!stays[4] || header4 == was4);
    assume (!stays[5] || header5 == was5);
    assume (!stays[6] || header6 == was6);
    assume (!stays[7] || header7 == was7);
    // Readers read and writers write.
    assume (header0[82:80] < 2 && header1[82:80] < 2 && header2[82:80] < 2);
    assume ({header4[82:80], header5[82:80], header6[82:80], header7[82:80]} ==
      ({header4[82:80], header5[82:80], header6[82:80], header7[82:80]} & 12'o2222));
  end

  // No reader uses the tag of a read that it awaits. A node has 3 tags.
  always @* begin
    assume (header0[79:72] < 3 && header1[79:72] < 3 && header2[79:72] < 16);
    assume (!valid[0] || !(initiator_Awaited >> {2'd0, header0[75:72]} & 64'd1));
    assume (!valid[1] || !(initiator_Awaited >> {2'd1, header1[75:72]} & 64'd1));
    assume (!valid[2] || !(initiator_Awaited >> {2'd2, header2[75:72]} & 64'd1));
  end

  wire [5:0] own = {initiator_State_Turn_At[1:0], initiator_State_Turn_At == 0 ? header0[75:72] :
    initiator_State_Turn_At == 1 ? header1[75:72] : header2[75:72]};

  // Lemmas: the header that holds a grant is offered, and nothing withdraws it.
  always @* if (begun) begin
    assert (!initiator_State_Turn_Hold || stays[initiator_State_Turn_At] && outward[initiator_State_Turn_At]);
    assert (!initiator_State_Turn_Hold || initiator_State_Turn_At > 2 || initiator_State_Spare_Free ||
      !(initiator_Busy >> own & 64'd1));
    assert (!initiator_State_Turn_Hold || initiator_State_Turn_At < 4 || !initiator_State_Full);
    assert (!vramRead_Turn_Hold || vramRead_Turn_At > 2 || stays[vramRead_Turn_At] && !outward[vramRead_Turn_At]);
    assert (!vramWrite_Turn_Hold || vramWrite_Turn_At < 3 && stays[4 + vramWrite_Turn_At] && !outward[4 + vramWrite_Turn_At]);
  end
